import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { as, attempt, enterTenant, type Guarantee, REFUSED, tenantsOf, type FunctionGuarantees } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** app.enqueue. The tenant of a job is the transaction's, even if its payload names another. */
export const enqueueGuarantee = ({ own, other }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds one job of the set tenant, or of the platform, and returns its id`,
  holds: async (sql) => {
    const before = await tenantsOf(sql, 'app.jobs', 'true', [])
    const key = randomUUID()
    const added: (string | null)[] = []
    for (const tenant of [own, other, null]) {
      added.push(tenant)
      await enterTenant(sql, tenant)
      // The second call changes nothing and returns the first job. A key that another tenant used is free.
      for (let time = 1; time <= 2; time++) {
        const payload = JSON.stringify({ tenant_id: tenant === other ? own : other, time })
        const [job] = await sql`select app.enqueue('send-mail', ${payload}::text::jsonb, ${key}) as id`
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'idempotency_key = $1', [key]), added.toSorted(nullsLast))
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'id = $1', [job?.['id']]), [tenant])
      }
    }
    const after = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(after, [...before, ...added].toSorted(nullsLast))
  },
})

const nullsLast = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

/** app.record_bounce and app.clear_bounces, called for the mail of every kind of user. */
export const bounceGuarantee = ({ users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and acts only on the user whom a mail was for, in each of their tenants`,
  holds: async (sql) => {
    for (const call of [`select app.record_bounce(gen_random_uuid(), '', '')`, `select app.clear_bounces('')`])
      assert.equal((await attempt(sql, call)).code, REFUSED, call)
    for (const { what, id, tenants } of users) {
      const [mail] = await as(
        sql,
        'none',
        () => sql<{ job: string; address: string }[]>`
          with job as (
            insert into app.jobs (kind, payload, idempotency_key)
            values ('mail', jsonb_build_object('template', 'password-changed', 'user_id', ${id}::uuid), gen_random_uuid()::text) returning id)
          select job.id as job, coalesce(u.email, 'nobody@of.test') as address
            from job left join app.users u on u.id = ${id}::uuid`,
      )
      const { job = '', address = '' } = mail ?? {}
      await enterTenant(sql, null)
      const report = (to: string, of = job) =>
        as(sql, 'identity_worker', async () => {
          const [row] = await sql<
            { recorded: boolean }[]
          >`select recorded from app.record_bounce(${of}, ${to}, 'bounce')`
          return row?.recorded
        })
      const entries = () => tenantsOf(sql, 'app.audit_log', `action = 'user.bounced' and target_id = $1`, [id])
      assert.equal(await report('another@of.test'), false, `${what}, another address`)
      assert.equal(await report(address, randomUUID()), false, `${what}, another job`)
      assert.deepEqual(await entries(), [], what)
      const exists = address !== 'nobody@of.test'
      assert.equal(await report(address), exists, what)
      assert.equal(await report(address), false, `${what}, again`)
      assert.deepEqual(await entries(), tenants.toSorted(), what)
      const cleared = await as(
        sql,
        'identity_operator',
        () => sql<{ tenant_id: string }[]>`select tenant_id from app.clear_bounces(${address}) where target_id = ${id}`,
      )
      const expected = exists && tenants.length === 0 ? [null] : tenants
      assert.deepEqual(cleared.map((row) => row.tenant_id).toSorted(nullsLast), expected.toSorted(nullsLast), what)
    }
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  enqueue: enqueueGuarantee,
  record_bounce: bounceGuarantee,
  clear_bounces: bounceGuarantee,
}
