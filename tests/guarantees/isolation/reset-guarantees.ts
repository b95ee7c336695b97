import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'

import { expectStepUp, ticketOf } from './gate-guarantees.ts'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

// The functions of resets of second factors. Their promises are about people with an app, and what of them a reset ends.

const SOURCE = `row('r', null, null)::app.source`
const hex = (bytes: Buffer): string => `'\\x${bytes.toString('hex')}'::bytea`
const none = <T>(sql: postgres.Sql, work: () => Promise<T>) => as(sql, 'none', work)

/** Gives users an app, a recovery code, an open sign-in and a password. */
const giveFactors = (sql: postgres.Sql, users: readonly string[]) =>
  none(sql, async () => {
    for (const user of users) {
      await sql`
        insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
        values (${randomUUID()}, ${user}, 'totp', 'App', ${randomUUID()}, ${randomBytes(32)}, ${randomBytes(99)}, 100)`
      await sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (${randomBytes(32)}, 'recovery_code', ${user}, 'infinity')`
      await sql`
        insert into app.open_sign_ins (token_key, user_id, taken, taken_in_cache, expires_at)
        values (${randomBytes(32)}, ${user}, '[]', '{}', 'infinity')`
      await sql`update app.users set password_hash = 'x' where id = ${user}`
    }
  })

/** Opens a reset of a user, as an operator's or a manager's, and a token that cancels it. */
async function openReset(
  sql: postgres.Sql,
  user: string,
  by: string | null = null,
  at = `now() - interval '1 minute'`,
) {
  const [id, token] = [randomUUID(), randomBytes(32)]
  await none(sql, async () => {
    await sql.unsafe(
      `insert into app.factor_resets (id, user_id, requested_by, effective_at) values ($1, $2, $3, ${at})`,
      [id, user, by],
    )
    await sql`
      insert into app.tokens (token_hash, purpose, user_id, expires_at)
      values (${token}, 'factor_reset_cancel', ${user}, now() + interval '1 day')`
  })
  return { id, token }
}

/** Returns everything of a user that a reset ends, and their resets. */
const stateOf = (sql: postgres.Sql, user: string) =>
  none(sql, async () => {
    const [row] = await sql<{ state: { factors: number; resets: object[] } }[]>`
      select jsonb_build_object(
        'factors', (select count(*) from app.factors where user_id = ${user}),
        'codes', (select count(*) from app.tokens where user_id = ${user} and consumed_at is null),
        'open', (select count(*) from app.open_sign_ins where user_id = ${user}),
        'sessions', (select count(*) from app.sessions where user_id = ${user} and revoked_at is null),
        'password', (select password_hash from app.users where id = ${user}),
        'resets', (select coalesce(jsonb_agg(jsonb_build_object(
                     'by', requested_by, 'waits', effective_at is null, 'cancelled', cancelled_at is not null, 'done', done_at is not null)
                     order by requested_at, id), '[]') from app.factor_resets where user_id = ${user})) as state`
    return row?.state
  })

const membershipOf = (sql: postgres.Sql, user: string, tenant: string) =>
  none(sql, async () => {
    const [row] = await sql<{ id: string }[]>`
      select id from app.memberships where user_id = ${user} and tenant_id = ${tenant}`
    return row?.id ?? ''
  })

/** The ids of a manager in both tenants, and of others: see TwoTenants. */
const peopleOf = ({ users }: TwoTenants) => {
  const [manager = '', owner = '', foreign = '', invited = '', removed = ''] = users.map(({ id }) => id ?? '')
  return { manager, owner, foreign, invited, removed }
}

const requestGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes a ticket that may manage members, and vouches for a member of its tenant whose role it may give, alone only in their one tenant`,
  holds: async (sql) => {
    const { own, other, sessions } = world
    const { manager, owner, foreign, invited, removed } = peopleOf(world)
    const role = (id: number) =>
      none(sql, () => sql`update app.memberships set role_id = ${id} where user_id = ${manager}`)
    const call = `app.${name}(decode($1, 'hex'), $2, 24, $3, ${SOURCE})`
    const codeOf = async (ticket: string, member: string, seconds: string | null = null) =>
      (await attempt(sql, `select ${call}`, [ticket, member, seconds])).code
    const member = await membershipOf(sql, invited, own)
    await giveFactors(sql, [manager, owner, foreign, invited])
    await role(7)
    assert.equal(await codeOf(await ticketOf(sql, sessions.own), member), 'TN403', 'without the permission')
    await role(2)
    const ticket = await ticketOf(sql, sessions.own)
    assert.equal(await codeOf('00'.repeat(103), member), 'TN500', 'an invented ticket')
    await none(sql, () => sql`update app.sessions set second_factor_at = now() where id = ${sessions.own}`)
    await expectStepUp(sql, sessions.own, (seconds) => codeOf(ticket, member, seconds))
    await sql`savepoint ended`
    await none(sql, () => sql`update app.sessions set revoked_at = now() where id = ${sessions.own}`)
    assert.equal(await codeOf(ticket, member), 'TN401', 'an ended session')
    await sql`rollback to savepoint ended`
    const request = async (id: string) => {
      const [row] = await sql.unsafe<{ refusal: string | null }[]>(`select ${call} as refusal`, [ticket, id, null])
      return row?.refusal
    }
    const before = await Promise.all([owner, foreign, manager, removed].map((user) => stateOf(sql, user)))
    assert.equal(await request(await membershipOf(sql, owner, own)), 'beyond')
    assert.equal(await request(await membershipOf(sql, foreign, other)), 'no-member')
    assert.equal(await request(await membershipOf(sql, manager, own)), 'oneself')
    assert.equal(await request(await membershipOf(sql, removed, own)), 'no-factor')
    assert.equal(await request(randomUUID()), 'no-member')
    for (const ended of ['revoked_at = now()', 'accepted_at = null']) {
      await sql`savepoint former`
      await none(sql, () => sql.unsafe(`update app.memberships set ${ended} where id = $1`, [member]))
      assert.equal(await request(member), 'no-member', ended)
      await sql`rollback to savepoint former`
    }
    assert.deepEqual(await Promise.all([owner, foreign, manager, removed].map((user) => stateOf(sql, user))), before)
    const open = (waits: boolean) => [{ by: manager, waits, cancelled: false, done: false }]
    assert.equal(await request(member), null)
    assert.equal(await request(member), null, 'again')
    assert.deepEqual((await stateOf(sql, invited))?.resets, open(false))
    const [jobs] = await none(
      sql,
      () => sql<{ n: number; tenants: number }[]>`
        select count(*)::int as n, count(tenant_id)::int as tenants from app.jobs where payload ->> 'reset_id' is not null`,
    )
    assert.deepEqual(jobs, { n: 2, tenants: 0 }, 'a mail and a job of the platform')
    await giveFactors(sql, [removed])
    await none(
      sql,
      () => sql`update app.memberships set revoked_at = null where user_id = ${removed} and tenant_id = ${other}`,
    )
    assert.equal(await request(await membershipOf(sql, removed, own)), null)
    assert.deepEqual((await stateOf(sql, removed))?.resets, open(true), 'a person in two tenants')
  },
})

const cancelGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes the open token of a reset, and cancels or names that of its own user alone`,
  holds: async (sql) => {
    const { owner, foreign } = peopleOf(world)
    await giveFactors(sql, [owner, foreign])
    const [own, other] = [await openReset(sql, owner), await openReset(sql, foreign)]
    const call = async (token: Buffer, previous: Buffer | null = null) => {
      const source = name === 'cancel_factor_reset' ? `, ${SOURCE}` : ''
      const [row] = await sql.unsafe<{ found: boolean | string | null }[]>(
        `select app.${name}(${hex(token)}, ${previous === null ? 'null' : hex(previous)}${source}) as found`,
      )
      return row?.found || null
    }
    const before = await Promise.all([owner, foreign].map((user) => stateOf(sql, user)))
    const [reset, code] = [randomBytes(32), randomBytes(32)]
    await none(
      sql,
      () => sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at, created_at)
        values (${reset}, 'password_reset', ${owner}, 'infinity', 'infinity'), (${code}, 'recovery_code', ${owner}, 'infinity', now())`,
    )
    for (const token of [randomBytes(32), reset, code]) assert.equal(await call(token), null)
    await sql`savepoint expired`
    await none(sql, () => sql`update app.tokens set expires_at = now() where token_hash = ${own.token}`)
    assert.equal(await call(own.token), null, 'expired')
    await sql`rollback to savepoint expired`
    await sql`savepoint over`
    await none(sql, () => sql`update app.factor_resets set done_at = now() where user_id = ${owner}`)
    assert.equal(await call(own.token), null, 'a reset that is done')
    await sql`rollback to savepoint over`
    await none(sql, () => sql`delete from app.tokens where token_hash in (${reset}, ${code})`)
    assert.deepEqual(await Promise.all([owner, foreign].map((user) => stateOf(sql, user))), before)
    if (name === 'find_reset_cancellation') {
      assert.equal(await call(own.token), 'owner@acme.test')
      assert.deepEqual(await stateOf(sql, owner), before[0])
      return
    }
    for (const [token, previous] of [[randomBytes(32), own.token], [own.token]] as const)
      assert.equal(await call(token, previous), true)
    const [{ resets } = { resets: [] }] = [await stateOf(sql, owner)]
    assert.deepEqual(resets, [{ by: null, waits: false, cancelled: true, done: false }])
    assert.deepEqual(await stateOf(sql, foreign), before[1])
    assert.equal(await call(other.token), true)
  },
})

/** What operators do with a reset. */
const operatedGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} is for operators, and acts on the user of an address alone`,
  holds: async (sql) => {
    const { owner, foreign, manager } = peopleOf(world)
    await giveFactors(sql, [owner, foreign])
    await openReset(sql, owner, manager, 'null')
    await openReset(sql, foreign, manager, 'null')
    const requests = name === 'operate_factor_reset'
    const call = (email: string) => `select * from app.${name}('${email}', ${requests ? '24, ' : ''}'{}', ${SOURCE})`
    assert.equal((await as(sql, 'identity_auth', () => attempt(sql, call('owner@acme.test')))).code, REFUSED)
    const before = await Promise.all([foreign, manager].map((user) => stateOf(sql, user)))
    const operate = (email: string) => as(sql, 'identity_operator', () => sql.unsafe(call(email)))
    assert.equal((await operate('nobody@at.all')).length, 0)
    if (requests)
      assert.deepEqual(
        (await operate('both@shops.test')).map((row) => row['has_factor']),
        [false],
      )
    assert.deepEqual(
      (await operate('owner@acme.test')).map((row) => row['user_id']),
      [owner],
    )
    assert.deepEqual(await Promise.all([foreign, manager].map((user) => stateOf(sql, user))), before)
    assert.deepEqual((await stateOf(sql, owner))?.resets, [
      { by: requests ? null : manager, waits: !requests, cancelled: !requests, done: false },
    ])
  },
})

const runGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes the lease of a reset whose time has come, and ends the factors, codes, sessions and password of its user alone`,
  holds: async (sql) => {
    const { own } = world
    const { owner, foreign, invited, manager } = peopleOf(world)
    await giveFactors(sql, [owner, foreign, invited])
    const lease = async (
      reset: string,
      { kind = 'factor-reset', until = '1 hour' } = {},
    ): Promise<[string, string]> => {
      const token = randomUUID()
      const [job] = await none(
        sql,
        () => sql<{ id: string }[]>`
          insert into app.jobs (kind, payload, idempotency_key, lease_token, leased_until)
          values (${kind}, ${JSON.stringify({ reset_id: reset })}::text::jsonb, ${token}, ${token}, now() + ${until}::text::interval)
          returning id`,
      )
      return [job?.id ?? '', token]
    }
    const run = async (job: [string, string]) => {
      const [row] = await sql.unsafe<{ done: boolean }[]>(`select app.${name}($1, $2) as done`, job)
      return row?.done
    }
    const { id } = await openReset(sql, owner)
    await openReset(sql, foreign)
    const all = () => Promise.all([owner, foreign, invited].map((user) => stateOf(sql, user)))
    const before = await all()
    const leased = await lease(id)
    const wrong: [string, string][] = [
      [leased[0], randomUUID()],
      [randomUUID(), leased[1]],
      await lease(id, { until: '-1 second' }),
      await lease(id, { kind: 'planted' }),
      await lease(randomUUID()),
    ]
    for (const job of wrong)
      assert.equal((await attempt(sql, `select app.${name}($1, $2)`, job)).code, 'TN403', job.join(' '))
    for (const not of [
      "effective_at = now() + interval '1 second'",
      'effective_at = null',
      'cancelled_at = now()',
      'done_at = now()',
    ]) {
      await sql`savepoint early`
      await none(sql, () => sql.unsafe(`update app.factor_resets set ${not} where id = $1`, [id]))
      assert.equal(await run(leased), false, not)
      assert.equal((await stateOf(sql, owner))?.factors, 1, not)
      await sql`rollback to savepoint early`
    }
    assert.deepEqual(await all(), before)
    assert.equal(await run(leased), true)
    assert.deepEqual(await stateOf(sql, owner), {
      factors: 0,
      codes: 0,
      open: 0,
      sessions: 0,
      password: null,
      resets: [{ by: null, waits: false, cancelled: false, done: true }],
    })
    assert.deepEqual((await all()).slice(1), before.slice(1))
    assert.equal(await run(leased), false, 'once')
    // A manager vouches for a person in one tenant, and while they may.
    const vouched = await openReset(sql, invited, manager)
    await none(sql, () => sql`update app.memberships set role_id = 2 where user_id = ${manager}`)
    for (const not of [
      `update app.memberships set accepted_at = now() where user_id = $1`,
      `update app.memberships set tenant_id = gen_random_uuid() where user_id = $1 and tenant_id = '${own}'`,
      `update app.memberships set role_id = 1 where user_id = $1`,
    ]) {
      await sql`savepoint judged`
      await none(sql, () => sql.unsafe(not, [invited]))
      assert.equal(await run(await lease(vouched.id)), false, not)
      assert.deepEqual(
        (await stateOf(sql, invited))?.resets,
        [{ by: manager, waits: true, cancelled: false, done: false }],
        not,
      )
      await sql`rollback to savepoint judged`
    }
    assert.equal(await run(await lease(vouched.id)), true)
  },
})

const ownGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} returns the open reset of a live session's user, and of nobody else`,
  holds: async (sql) => {
    const { manager, owner, foreign } = peopleOf(world)
    const { sessions } = world
    const call = `select requested_at from app.${name}(decode($1, 'hex'))`
    const countOf = async (ticket: string) => attempt(sql, call, [ticket])
    await openReset(sql, foreign)
    const ended = await openReset(sql, owner)
    await none(sql, () => sql`update app.factor_resets set cancelled_at = now() where id = ${ended.id}`)
    const [own, single] = [await ticketOf(sql, sessions.own), await ticketOf(sql, sessions.single)]
    for (const ticket of [own, single]) assert.deepEqual(await countOf(ticket), { count: 0, code: '' })
    await openReset(sql, manager)
    assert.deepEqual(await countOf(own), { count: 1, code: '' })
    assert.deepEqual(await countOf(single), { count: 0, code: '' })
    assert.equal((await countOf('00'.repeat(103))).code, 'TN500')
    await none(sql, () => sql`update app.sessions set revoked_at = now() where id = ${sessions.own}`)
    assert.deepEqual(await countOf(own), { count: 0, code: '' }, 'an ended session')
  },
})

const deletionGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} deletes the resets that ended 30 days ago, whoever calls it, and no other`,
  holds: async (sql) => {
    const { owner, foreign, invited } = peopleOf(world)
    for (const [user, set] of [
      [owner, `cancelled_at = now() - interval '31 days'`],
      [foreign, `done_at = now() - interval '29 days'`],
      [invited, `requested_at = now() - interval '300 days'`],
    ] as const) {
      const { id } = await openReset(sql, user)
      await none(sql, () => sql.unsafe(`update app.factor_resets set ${set} where id = $1`, [id]))
    }
    assert.equal((await as(sql, 'identity_auth', () => attempt(sql, `select app.${name}(100)`))).code, REFUSED)
    await as(sql, 'identity_worker', () => sql.unsafe(`select app.${name}(100)`))
    const left = await none(
      sql,
      () => sql<{ user_id: string }[]>`select user_id from app.factor_resets order by user_id`,
    )
    assert.deepEqual(
      left.map((row) => row.user_id),
      [foreign, invited].toSorted(),
    )
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  request_factor_reset: requestGuarantee,
  operate_factor_reset: operatedGuarantee,
  operate_reset_cancellation: operatedGuarantee,
  cancel_factor_reset: cancelGuarantee,
  find_reset_cancellation: cancelGuarantee,
  own_reset: ownGuarantee,
  run_factor_reset: runGuarantee,
  delete_old_resets: deletionGuarantee,
}
