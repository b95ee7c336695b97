import assert from 'node:assert/strict'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** app.delete_old_replies, called by each login, while replies of two tenants are old or not. */
const deletionGuarantee = ({ own, other, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} deletes replies that no retry gets any more, and no others`,
  holds: async (sql) => {
    const call = 'select app.delete_old_replies(1000)'
    const [user] = users
    await as(sql, 'none', async () => {
      for (const tenant of [own, other])
        await sql`
          insert into app.replies (tenant_id, user_id, key_hash, request_hash, reply, created_at)
          select ${tenant}, ${user?.id ?? ''}, sha256(age::bytea), sha256(''), '{}', now() - age::interval
            from unnest(array['0 s', '23 hours 59 minutes', '24 hours 1 minute', '3 days']) as age`
    })
    for (const role of ['identity_app', 'identity_auth', 'identity_operator', 'tenant_bound'])
      assert.equal((await as(sql, role, () => attempt(sql, call))).code, REFUSED, role)
    assert.equal((await as(sql, 'identity_worker', () => attempt(sql, call, [], true))).code, '')
    const left = await as(
      sql,
      'none',
      () => sql`
        select from app.replies where key_hash = any (array[sha256('0 s'), sha256('23 hours 59 minutes')])`,
    )
    assert.equal(left.length, 4)
    const old = await as(sql, 'none', () => sql`select from app.replies where created_at < now() - interval '24 hours'`)
    assert.equal(old.length, 0)
  },
})

export const FUNCTIONS: FunctionGuarantees = { delete_old_replies: deletionGuarantee }
