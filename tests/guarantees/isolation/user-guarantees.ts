import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import {
  as,
  attempt,
  enterTenant,
  type Guarantee,
  sealedTicket,
  tenantsOf,
  type FunctionGuarantees,
} from './guarantee.ts'
import { passwordGuarantee, passwordOf } from './proof-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

/** Expects that a function that writes across tenants returns nothing. */
async function expectNothing(sql: postgres.Sql, call: string, parameters: (string | null)[]): Promise<void> {
  const outcome = await attempt(
    sql,
    `select from (select ${call}) as c(returned) where coalesce(returned::text, '') = ''`,
    parameters,
    true,
  )
  assert.deepEqual(outcome, { count: 1, code: '' }, call)
}

/** Calls a function with what `proofOf` returns for every kind of user. Expects one audit entry in each of their tenants. */
async function expectInTheirTenants(
  sql: postgres.Sql,
  { own, other, users }: TwoTenants,
  { call, action, proofOf }: { call: string; action: string; proofOf: (user: string | null) => Promise<string> },
): Promise<void> {
  // The sessions that it ends have entries too.
  const written = `action <> 'session.revoked'`
  const count = async () => (await tenantsOf(sql, 'app.audit_log', written, [])).length
  for (const tenant of [null, own, other]) {
    for (const { what, id, tenants } of users) {
      const before = await count()
      const request = randomUUID()
      const proof = await proofOf(id)
      await enterTenant(sql, tenant)
      await expectNothing(sql, call, [proof, request])
      const condition = `${written} and request_id = $1 and target_id is not distinct from $2 and target_type = 'user'
        and action = '${action}' and actor_user_id = target_id`
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', condition, [request, id]), tenants.toSorted(), what)
      assert.equal(await count(), before + tenants.length, what)
    }
  }
}

const PASSWORD = passwordOf('a test')

/** Gives every user this password. */
const givePasswords = (sql: postgres.Sql) =>
  as(sql, 'none', () => sql`update app.users set password_hash = ${PASSWORD.hash}`)

/** Returns which of these sessions are not revoked. */
const liveOf = (sql: postgres.Sql, ids: string[]): Promise<string[]> =>
  as(sql, 'none', async () => {
    const rows = await sql<{ id: string }[]>`select id from app.sessions where id = any (${ids}) and revoked_at is null`
    return rows.map(({ id }) => id)
  })

/** app.change_password, called with tickets of users and of other ids. */
export const passwordChangeGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} needs a step-up of a two-factor session, ends the other sessions of the ticket's user, and adds an audit entry in each of their tenants`,
  holds: async (sql) => {
    const { sessions } = world
    await givePasswords(sql)
    const change = `app.change_password(decode($1, 'hex'), '\\x${PASSWORD.digest.toString('hex')}', '${PASSWORD.hash}', row($2, null, null)::app.source)`
    await expectInTheirTenants(sql, world, {
      call: `nullif(nullif(${change}, true), false)`,
      action: 'user.password_changed',
      proofOf: (user) => sealedTicket(sql, { user, session: sessions.own }),
    })
    assert.deepEqual(await liveOf(sql, [sessions.own, sessions.other, sessions.pending]), [sessions.own])
    for (const [why, session] of sessions.dead.filter(([of]) => of !== "a disabled user's")) {
      const ticket = await sealedTicket(sql, { user: world.users[0]?.id ?? null, session })
      assert.equal((await attempt(sql, `select ${change}`, [ticket, 'r'])).code, 'TN401', why)
    }
    const ticket = await sealedTicket(sql, { user: world.users[0]?.id ?? null, session: sessions.own })
    const stepped = `select ${change.replace(/\)$/, ', $3)')}`
    for (const secondFactorAt of ['now()', 'null']) {
      await sql`savepoint factors`
      await as(sql, 'none', () =>
        sql.unsafe(
          `update app.sessions set second_factor_at = ${secondFactorAt}, stepped_up_at = now() - interval '61 seconds'
                     where id = $1`,
          [sessions.own],
        ),
      )
      const { code } = await attempt(sql, stepped, [ticket, 'r', '60'])
      assert.equal(code, secondFactorAt === 'null' ? '' : 'TN428', secondFactorAt)
      await sql`rollback to savepoint factors`
    }
    await passwordGuarantee(world).holds(sql)
  },
})

/** app.change_language, called with tickets of users and of dead sessions. */
export const languageGuarantee = ({ sessions, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} changes the ticket's user while the session is live, and nobody else`,
  holds: async (sql) => {
    const user = users[0]?.id ?? null
    const spanish = () => as(sql, 'none', () => sql`select id from app.users where language = 'es'`)
    const change = (ticket: string) =>
      attempt(sql, `select app.change_language(decode($1, 'hex'), 'es')`, [ticket], true)
    for (const [why, session] of sessions.dead.filter(([of]) => of !== "a disabled user's"))
      assert.equal((await change(await sealedTicket(sql, { user, session }))).code, 'TN401', why)
    assert.deepEqual([...(await spanish())], [])
    assert.equal((await change(await sealedTicket(sql, { user, session: sessions.own }))).code, '')
    assert.deepEqual([...(await spanish())], [{ id: user }])
  },
})

/** app.reset_password, called with token hashes of users and of other ids. */
export const passwordResetGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes an open reset token once, ends the sessions of its user, and audits in each of their tenants`,
  holds: async (sql) => {
    const { sessions, users } = world
    const token = (user: string | null, purpose: string, consumed: string, ends = '1 day') =>
      as(sql, 'none', async () => {
        const hash = randomBytes(32)
        await sql.unsafe(
          `insert into app.tokens (token_hash, purpose, user_id, created_at, expires_at, consumed_at)
           values ($1, $2, $3, clock_timestamp(), now() + $4::text::interval, ${consumed})`,
          [hash, purpose, user, ends],
        )
        return hash.toString('hex')
      })
    const hashes = () =>
      as(sql, 'none', async () =>
        JSON.stringify(await sql`select id, password_hash, email_verified_at from app.users order by id`),
      )
    const before = await hashes()
    const user = users[0]?.id ?? null
    for (const [purpose, consumed, ends, rows] of [
      ['password_reset', `now() - interval '1 ms'`, '1 day', [{ user_id: null }]],
      ['password_reset', 'null', '-1 ms', []],
      ['email_verify', 'null', '1 day', []],
    ] as const) {
      const hash = Buffer.from(await token(user, purpose, consumed, ends), 'hex')
      const returned = await sql`select * from app.reset_password(${hash}, null, 'x', row('x', null, null)::app.source)`
      assert.deepEqual([...returned], rows, `${purpose} ${consumed}`)
      const found = await sql`select * from app.find_reset(${hash}, null)`
      assert.deepEqual(
        [...found],
        rows.map(() => ({ consumed: true, email: null, full_name: null, tenant_names: null })),
      )
    }
    assert.equal(await hashes(), before)
    const slugs = await as(sql, 'none', () => sql<{ id: string; slug: string }[]>`select id, slug from app.tenants`)
    for (const { what, id, tenants } of users.filter((each) => each.tenants.length > 0)) {
      const hash = Buffer.from(await token(id, 'password_reset', 'null'), 'hex')
      const [found] = await sql<{ tenant_names: string }[]>`select tenant_names from app.find_reset(${hash}, null)`
      const named = slugs.filter(({ slug }) => found?.tenant_names.split('\n').includes(slug))
      assert.deepEqual(named.map((tenant) => tenant.id).toSorted(), tenants.toSorted(), what)
    }
    await expectInTheirTenants(sql, world, {
      call: `(select nullif(count(*) >= 0, true) from app.reset_password(decode($1, 'hex'), null, 'x', row($2, null, null)::app.source))`,
      action: 'user.password_reset',
      proofOf: (id) => token(id, 'password_reset', 'null'),
    })
    assert.deepEqual(await liveOf(sql, [sessions.own, sessions.other, sessions.pending]), [])
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  change_password: passwordChangeGuarantee,
  change_language: languageGuarantee,
  find_reset: passwordResetGuarantee,
  reset_password: passwordResetGuarantee,
}
