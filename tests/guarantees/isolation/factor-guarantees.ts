import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED, sealedTicket } from './guarantee.ts'
import { passwordOf } from './proof-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

// The functions of second factors. Each promise is about two users, each with an app, a draft, recovery codes and an open sign-in.

export const SOURCE = `row('r', null, null)::app.source`
export const LIMIT = `row(sha256('limit'), 1000, 60)::app.limit`

export interface Owned {
  readonly user: string
  readonly factor: string
  readonly draft: string
  readonly witness: Buffer
  readonly code: Buffer
  readonly signIn: Buffer
}

export const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()

/** Gives a user an app, a draft of the session, a recovery code and an open sign-in. */
export async function give(sql: postgres.Sql, user: string, session: string): Promise<Owned> {
  const owned = {
    user,
    factor: randomUUID(),
    draft: randomUUID(),
    witness: randomBytes(32),
    code: randomBytes(32),
    signIn: randomBytes(32),
  }
  await as(sql, 'none', async () => {
    await sql`
      insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
      values (${owned.factor}, ${user}, 'totp', 'App', ${randomUUID()}, ${sha256(owned.witness)}, ${randomBytes(99)}, 100)`
    await sql`
      insert into app.factor_drafts (id, user_id, session_id, sealed, expires_at)
      values (${owned.draft}, ${user}, ${session}, ${randomBytes(99)}, now() + interval '1 hour')`
    await sql`
      insert into app.tokens (token_hash, purpose, user_id, expires_at) values (${owned.code}, 'recovery_code', ${user}, 'infinity')`
    await sql`
      insert into app.open_sign_ins (token_key, user_id, taken, taken_in_cache, expires_at, created_at)
      values (${owned.signIn}, ${user}, '[]', '{}', now() + interval '1 hour', clock_timestamp())`
    await sql`
      update app.sessions set stepped_up_at = clock_timestamp(), created_at = now() - interval '1 minute' where user_id = ${user}`
  })
  return owned
}

export interface Passkey {
  readonly id: string
  readonly user: string
  readonly credential: Buffer
  readonly witness: Buffer
}

/** Gives the owner of an app a passkey too, whose counter is 5. */
export async function givePasskey(sql: postgres.Sql, { user, factor }: Owned): Promise<Passkey> {
  const passkey = { id: randomUUID(), user, credential: credentialOf(factor), witness: randomBytes(32) }
  await as(
    sql,
    'none',
    () => sql`
      insert into app.factors (id, user_id, kind, name, key_id, witness_hash, credential_id, public_key, algorithm, sign_count, rp_id,
                               backup_eligible, backed_up)
      values (${passkey.id}, ${user}, 'passkey', 'Key', ${randomUUID()}, ${sha256(passkey.witness)}, ${passkey.credential}, 'key', -7, 5,
              'rp', false, false)`,
  )
  return passkey
}

/** Returns everything of a user that a second factor protects. */
export const stateOf = (sql: postgres.Sql, user: string): Promise<string> =>
  as(sql, 'none', async () => {
    const [row] = await sql<{ state: string }[]>`
      select jsonb_build_array(
        (select jsonb_agg(to_jsonb(f) order by f.id) from app.factors f where f.user_id = ${user}),
        (select jsonb_agg(to_jsonb(d)) from app.factor_drafts d where d.user_id = ${user}),
        (select jsonb_agg(to_jsonb(t) order by t.id) from app.tokens t where t.user_id = ${user}),
        (select jsonb_agg(to_jsonb(o) order by o.id) from app.open_sign_ins o where o.user_id = ${user}),
        (select jsonb_agg(to_jsonb(s) order by s.id) from app.sessions s where s.user_id = ${user}))::text as state`
    return row?.state ?? ''
  })

/** The id of the passkey of the owner of an app. */
export const credentialOf = (factor: string): Buffer => sha256(Buffer.from(factor))

/** A new passkey of a user. */
export const newPasskey = (credential: Buffer, challenge: Buffer = randomBytes(32)): string =>
  `row(gen_random_uuid(), 'Key', gen_random_uuid(), sha256('w'), ${hex(credential)}, 'key', -7, 0, null, 'rp', gen_random_uuid(), false, false, ${hex(challenge)}, now() + interval '1 minute')::app.new_passkey`

export const hex = (bytes: Buffer): string => `'\\x${bytes.toString('hex')}'::bytea`

/** The calls of a function by a ticket ($1) with what belongs to a user. */
const callsOf = ({ factor, draft, witness, code }: Owned): Readonly<Record<string, string>> => ({
  own_salt: `app.own_salt(decode($1, 'hex'), ${LIMIT})`,
  look_at_own_app: `app.look_at_own_app(decode($1, 'hex'), sha256('n'), 1000, 60, 1000)`,
  step_up: `app.step_up(decode($1, 'hex'), null, '${factor}', 200, ${hex(witness)}, ${hex(code)}, null, ${LIMIT}, sha256('new'), 60, ${SOURCE})`,
  own_factors: `app.own_factors(decode($1, 'hex'), null, 3600)`,
  make_draft: `app.make_draft(decode($1, 'hex'), '${randomUUID()}', sha256('x'), 3600)`,
  own_draft: `app.own_draft(decode($1, 'hex'), 3600)`,
  look_at_own_passkey: `app.look_at_own_passkey(decode($1, 'hex'), ${hex(credentialOf(factor))}, ${LIMIT})`,
  add_passkey: `app.add_passkey(decode($1, 'hex'), ${newPasskey(randomBytes(20))}, '${draft}', '', null, null, sha256('new'), 60, 3600, ${SOURCE})`,
  add_app: `app.add_app(decode($1, 'hex'), '${draft}', '${randomUUID()}', sha256('x'), '${randomUUID()}', sha256('w'), 1, null, null, null, sha256('new'), 60, 3600, ${SOURCE})`,
  rename_factor: `app.rename_factor(decode($1, 'hex'), '${factor}', 'Taken')`,
  remove_factor: `app.remove_factor(decode($1, 'hex'), '${factor}', 3600, ${SOURCE})`,
  renew_recovery_codes: `app.renew_recovery_codes(decode($1, 'hex'), '${draft}', '', 3600, ${SOURCE})`,
  request_setup_code: `app.request_setup_code(decode($1, 'hex'), 'a nonce of a mail', 1000, 3600)`,
})

/** Which calls write: a dead session gets TN401. The others return no row for it. */
const READS = new Set(['look_at_own_app', 'look_at_own_passkey', 'own_factors', 'own_draft', 'own_salt'])

/** Which calls use a draft. */
const DRAFTED = new Set(['own_draft', 'add_app', 'renew_recovery_codes'])

/** Which calls want a step-up that is fresh, and newer than the sign-in. */
export const STEPPED_UP = new Set([
  'own_factors',
  'make_draft',
  'own_draft',
  'add_app',
  'add_passkey',
  'remove_factor',
  'renew_recovery_codes',
  'request_setup_code',
])

async function needsStepUp(sql: postgres.Sql, user: string, call: () => Promise<{ code: string }>): Promise<void> {
  for (const stale of [`now() - interval '61 minutes'`, 'created_at', 'null']) {
    await sql`savepoint stale`
    await as(sql, 'none', () =>
      sql.unsafe(`update app.sessions set created_at = now() - interval '2 hours' where user_id = $1`, [user]),
    )
    if (stale === 'created_at')
      await as(sql, 'none', () => sql`update app.sessions set created_at = clock_timestamp() where user_id = ${user}`)
    await as(sql, 'none', () =>
      sql.unsafe(`update app.sessions set stepped_up_at = ${stale} where user_id = $1`, [user]),
    )
    assert.equal((await call()).code, 'TN428', stale)
    await sql`rollback to savepoint stale`
  }
}

/** A draft serves the session that made it, and no other of its user. */
async function notOfAnotherSession(
  sql: postgres.Sql,
  { sessions }: TwoTenants,
  own: Owned,
  [call, ticket]: readonly [call: string, ticket: string],
): Promise<void> {
  await sql`savepoint drafted`
  await as(
    sql,
    'none',
    () => sql`update app.factor_drafts set session_id = ${sessions.other} where user_id = ${own.user}`,
  )
  const before = await stateOf(sql, own.user)
  const returned = JSON.stringify(await sql.unsafe(`select * from ${call}`, [ticket]))
  assert.ok(!returned.includes(own.draft), 'the draft of another session')
  assert.equal(await stateOf(sql, own.user), before, 'with the draft of another session')
  await sql`rollback to savepoint drafted`
}

/** A step-up takes no password from a user with a factor, and replaces the token of the session. */
const stepUpGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes a factor of the ticket's user, and their password only without one; the old token is dead`,
  holds: async (sql) => {
    await ownGuarantee(world, name).holds(sql)
    const [own] = await as(
      sql,
      'none',
      () => sql<{ user_id: string }[]>`select user_id from app.sessions where id = ${world.sessions.own}`,
    )
    const { digest, hash } = passwordOf('the password of the guarantee')
    await as(sql, 'none', () => sql`update app.users set password_hash = ${hash} where id = ${own?.user_id ?? ''}`)
    const ticket = await sealedTicket(sql, { user: own?.user_id ?? null, session: world.sessions.own })
    const step = async (factor: string) => {
      const [row] = await sql.unsafe<{ refused_by: string | null }[]>(
        `select * from app.step_up(decode($1, 'hex'), ${hex(digest)}, ${factor}, null, ${LIMIT}, sha256('new'), 60, ${SOURCE})`,
        [ticket],
      )
      return row?.refused_by
    }
    const hasNew = () =>
      as(
        sql,
        'none',
        async () =>
          (await sql`select from app.sessions where id = ${world.sessions.own} and token_key = sha256('new')`).length,
      )
    const none = 'null, null, null, null'
    assert.deepEqual([await step(none), await hasNew()], ['proof', 0], 'the password beside a factor')
    await as(sql, 'none', () => sql`delete from app.factors where user_id = ${own?.user_id ?? ''}`)
    assert.deepEqual([await step(none), await hasNew()], [null, 1], 'the password without a factor')
  },
})

export async function twoOwners(
  sql: postgres.Sql,
  { users, sessions }: TwoTenants,
): Promise<[own: Owned, other: Owned]> {
  const [own, other] = users.map(({ id }) => id ?? '')
  return [await give(sql, own ?? '', sessions.own), await give(sql, other ?? '', sessions.single)]
}

/** A function by the ticket of a session acts for its user alone. */
export const ownGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} acts for the user of a ticket with a live session, and changes nothing of another, whose ids and proofs it gets`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const call = callsOf(other)[name] ?? ''
    const ticket = await sealedTicket(sql, { user: own.user, session: world.sessions.own })
    const [before, after] = [await stateOf(sql, other.user), async () => stateOf(sql, other.user)]
    const forged = `${ticket.slice(0, -2)}${ticket.endsWith('00') ? '11' : '00'}`
    assert.equal((await attempt(sql, `select * from ${call}`, [forged])).code, 'TN500', 'a forged ticket')
    await sql`savepoint called`
    const returned = await sql.unsafe(`select * from ${call}`, [ticket]).catch((error: unknown) => error)
    if (!Array.isArray(returned)) await sql`rollback to savepoint called`
    for (const id of [other.user, other.factor, other.draft])
      assert.ok(!JSON.stringify(returned).includes(id), 'it returns nothing of another')
    assert.equal(await after(), before, 'with what belongs to another')
    for (const [why, session] of world.sessions.dead.filter(([of]) => of !== "a disabled user's")) {
      const dead = await sealedTicket(sql, { user: own.user, session })
      const outcome = await attempt(sql, `select * from ${callsOf(own)[name]}`, [dead])
      if (name !== 'own_salt') assert.deepEqual(outcome, { count: 0, code: READS.has(name) ? '' : 'TN401' }, why)
    }
    if (STEPPED_UP.has(name))
      await needsStepUp(sql, own.user, () => attempt(sql, `select * from ${callsOf(own)[name]}`, [ticket]))
    if (DRAFTED.has(name)) await notOfAnotherSession(sql, world, own, [callsOf(own)[name] ?? '', ticket])
    // Its own it takes: otherwise the promise above proves nothing.
    const own$ = await attempt(sql, `select * from ${callsOf(own)[name]}`, [ticket])
    assert.deepEqual(own$, { count: 1, code: '' }, 'with its own')
  },
})

export const finish = ({ signIn }: Pick<Owned, 'signIn'>, proof: string): string =>
  `select * from app.finish_sign_in(${hex(signIn)}, null, ${proof}, ${hex(randomBytes(32))}, sha256('c'), sha256('n'), null, 60, 60, 9, ${SOURCE})`

export const openFor = (sql: postgres.Sql, user: string, token: Buffer) =>
  as(
    sql,
    'none',
    () => sql`
    insert into app.open_sign_ins (token_key, user_id, taken, taken_in_cache, expires_at, created_at)
    values (${token}, ${user}, '[]', '{}', now() + interval '1 hour', clock_timestamp())`,
  )

/** An open sign-in that has ended shows nothing, and no proof finishes it. */
async function notOpen(sql: postgres.Sql, own: Owned): Promise<void> {
  for (const end of [
    'update app.open_sign_ins set expires_at = now() where user_id = $1',
    'update app.users set disabled_at = now() where id = $1',
    'update app.users set resets_valid_from = clock_timestamp() where id = $1',
    `insert into app.open_sign_ins (token_key, user_id, taken, taken_in_cache, expires_at, created_at)
     select sha256(n::text::bytea), $1, '[]', '{}', 'infinity', clock_timestamp() from generate_series(1, 10) n`,
  ]) {
    await sql`savepoint ended`
    await as(sql, 'none', () => sql.unsafe(end, [own.user]))
    const shown = `select from app.look_at_sign_in(${hex(own.signIn)}, null, 'totp', sha256('n'), 1000, 60, 1000, ${LIMIT})`
    assert.equal((await attempt(sql, shown)).count, 0, end)
    assert.equal(
      (await attempt(sql, finish(own, `'${own.factor}', 200, ${hex(own.witness)}, null, null`))).count,
      0,
      end,
    )
    await sql`rollback to savepoint ended`
  }
}

/** Each look takes a try and counts a wrong code, until five tries or 200 wrong codes. */
async function countsLooks(sql: postgres.Sql, own: Owned): Promise<void> {
  await sql`savepoint tried`
  await as(sql, 'none', async () => {
    await sql`update app.open_sign_ins set tries = 0 where user_id = ${own.user}`
    await sql`update app.factors set wrong_codes = 197 where user_id = ${own.user}`
  })
  const look = `select factor_id as id from app.look_at_sign_in(${hex(own.signIn)}, null, 'totp', sha256('n'), 1000, 60, 1000, ${LIMIT})`
  const shown: (string | null | undefined)[] = []
  for (let looks = 0; looks < 6; looks += 1) {
    const [row] = await sql.unsafe<{ id: string | null }[]>(look)
    shown.push(row?.id)
  }
  assert.deepEqual(shown, [own.factor, own.factor, own.factor, null, null, undefined])
  await sql`rollback to savepoint tried`
}

/** An open sign-in is finished by a proof of its own user alone. */
const signInGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes the token of an open sign-in, and no session comes of it without the witness or a code of its own user`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const look = (token: Buffer) =>
      sql<{ user_id: string; factor_id: string }[]>`
        select user_id, factor_id from app.look_at_sign_in(${token}, null, 'totp', ${randomBytes(32)}, 1000, 60, 1000, row(sha256('l'), 1000, 60)::app.limit)`
    assert.equal((await look(randomBytes(32))).length, 0)
    assert.deepEqual([...(await look(own.signIn))], [{ user_id: own.user, factor_id: own.factor }])
    const [mine, foreign] = [await givePasskey(sql, own), await givePasskey(sql, other)]
    const passkey = async (credential: Buffer) => {
      const call = `select factor_id from app.look_at_sign_in(${hex(own.signIn)}, null, 'passkey', sha256('n'), 9, 60, 9, ${LIMIT}, ${hex(credential)})`
      return (await sql.unsafe(call))[0]?.['factor_id']
    }
    assert.deepEqual([await passkey(mine.credential), await passkey(foreign.credential)], [mine.id, null])
    const sessions = () =>
      as(sql, 'none', () => sql`select id from app.sessions where user_id in (${own.user}, ${other.user}) order by id`)
    const before = JSON.stringify(await sessions())
    const none = 'null, null, null'
    // Of the user, with less entropy than a recovery code.
    const mailed = randomBytes(32)
    await as(
      sql,
      'none',
      () => sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (${mailed}, 'factor_setup', ${own.user}, now() + interval '1 minute')`,
    )
    assert.equal(
      (await attempt(sql, finish({ signIn: randomBytes(32) }, `null, null, null, ${hex(own.code)}, null`))).count,
      0,
    )
    for (const witness of ['null::bytea', `sha256('x')`, hex(other.witness)])
      assert.equal(
        (await attempt(sql, finish(own, `'${own.factor}', 200, ${witness}, null, null`))).code,
        'TN500',
        witness,
      )
    for (const proof of [
      `${none}, null, null`,
      `${none}, ${hex(other.code)}, null`,
      `${none}, sha256('x'), ${hex(other.code)}`,
      `${none}, ${hex(mailed)}, null`,
      `'${other.factor}', 200, ${hex(other.witness)}, null, null`,
      `'${own.factor}', 100, ${hex(own.witness)}, null, null`,
      `'${own.factor}', 99, ${hex(own.witness)}, null, null`,
    ]) {
      const [row] = await sql.unsafe<{ session_id: string | null }[]>(finish(own, proof))
      assert.deepEqual([row?.session_id], [null], proof)
    }
    assert.equal(JSON.stringify(await sessions()), before)
    await notOpen(sql, own)
    await countsLooks(sql, own)
    const session = `select app.create_session('${own.user}', sha256('p'), sha256('c'), sha256('n'), null, null, null, 9, 9, 9, ${SOURCE}, null, null, null, false)`
    assert.equal((await as(sql, 'none', () => attempt(sql, session))).code, 'TN500', 'a session without a proof')
    for (const [proof, of] of [
      [`'${own.factor}', 200, ${hex(own.witness)}, null, null`, own],
      [`${none}, ${hex(other.code)}, null`, other],
    ] as const) {
      const [row] = await sql.unsafe<{ user_id: string }[]>(finish(of, proof))
      assert.equal(row?.user_id, of.user)
      assert.equal((await sql.unsafe(finish(of, proof))).length, 0, 'once')
      const again = { signIn: randomBytes(32) }
      await openFor(sql, of.user, again.signIn)
      const [second] = await sql.unsafe<{ session_id: string | null }[]>(finish(again, proof))
      assert.deepEqual([second?.session_id], [null], 'the proof once')
    }
  },
})

/** Deletes what expired a day ago, for the worker alone. */
const deletionGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} deletes what expired a day ago, whoever calls it, and nothing else`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    await as(sql, 'none', async () => {
      await sql`update app.open_sign_ins set expires_at = now() - interval '25 hours' where user_id = ${own.user}`
      await sql`update app.open_sign_ins set expires_at = now() - interval '23 hours' where user_id = ${other.user}`
      await sql`update app.factor_drafts set expires_at = now() - interval '25 hours' where user_id = ${own.user}`
      await sql`update app.factor_drafts set expires_at = now() - interval '23 hours' where user_id = ${other.user}`
      await sql`insert into app.used_challenges values (sha256('old'), now() - interval '25 hours'), (sha256('kept'), now())`
    })
    const left = () =>
      as(sql, 'none', async () => {
        const [row] = await sql<{ n: string }[]>`
          select (select count(*) from app.open_sign_ins) || ' ' || (select count(*) from app.factor_drafts) || ' '
                 || (select count(*) from app.used_challenges) as n`
        return row?.n
      })
    assert.equal((await as(sql, 'identity_auth', () => attempt(sql, `select app.${name}(100)`))).code, REFUSED)
    await as(sql, 'identity_worker', () => sql.unsafe(`select app.${name}(100)`))
    assert.equal(await left(), name === 'delete_old_sign_ins' ? '1 2 2' : '2 1 1')
  },
})

/** What operators see and do. Nobody but them calls it, and no secret is in what it returns. */
const operatedGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} is for operators, and shows no witness, no code and no other user`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const [user] = await as(
      sql,
      'none',
      () => sql<{ email: string }[]>`select email from app.users where id = ${own.user}`,
    )
    const [first = '', second = ''] = [own.factor, other.factor].toSorted()
    const calls: Readonly<Record<string, string>> = {
      factors_of_email: `app.factors_of_email('${user?.email}')`,
      factors_under_other_keys: `app.factors_under_other_keys(gen_random_uuid(), '${first}', 1)`,
      void_recovery_codes: `app.void_recovery_codes(now() - interval '1 hour', '{}', 10, ${SOURCE})`,
    }
    const call = `select * from ${calls[name]}`
    assert.equal((await as(sql, 'identity_auth', () => attempt(sql, call))).code, REFUSED)
    await as(
      sql,
      'none',
      () => sql`update app.tokens set created_at = now() - interval '1 day' where user_id = ${own.user}`,
    )
    // A newer code of the same user.
    if (name === 'void_recovery_codes')
      await as(
        sql,
        'none',
        () => sql`
        insert into app.tokens (purpose, token_hash, user_id, expires_at)
        values ('recovery_code', ${randomBytes(32)}, ${own.user}, 'infinity')`,
      )
    const before = await stateOf(sql, other.user)
    const rows = await as(sql, 'identity_operator', () => sql.unsafe(call))
    const shown = JSON.stringify(rows)
    for (const secret of [own.witness, sha256(own.witness), own.code, other.witness, other.code])
      assert.ok(!shown.includes(JSON.stringify(secret)), 'a secret')
    assert.equal(await stateOf(sql, other.user), before)
    if (name === 'factors_of_email')
      assert.deepEqual(
        rows.map((row) => row['user_id']),
        [own.user],
      )
    if (name === 'factors_under_other_keys')
      assert.deepEqual(
        rows.map((row) => row['factor_id']),
        [second],
      )
    if (name === 'void_recovery_codes') {
      assert.deepEqual([...rows], [{ void_recovery_codes: 1 }])
      const open = `select from app.tokens where purpose = 'recovery_code' and expires_at > now()`
      assert.equal((await as(sql, 'none', () => sql.unsafe(open))).length, 2)
    }
  },
})

/** A new seal needs the witness under the previous key. */
const resealGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes the witness of the same factor, and replaces its seal alone`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const reseal = (witness: string) =>
      `select app.reseal_factor('${own.factor}', ${witness}, sha256('sealed'), gen_random_uuid(), sha256('next')) as done`
    const tried = (witness: string) => as(sql, 'identity_auth', () => attempt(sql, reseal(witness)))
    const before = [await stateOf(sql, own.user), await stateOf(sql, other.user)]
    for (const witness of ['null', `sha256('x')`, hex(other.witness), hex(sha256(own.witness))])
      assert.equal((await tried(witness)).code, 'TN500', witness)
    assert.deepEqual([await stateOf(sql, own.user), await stateOf(sql, other.user)], before)
    const done = await as(sql, 'identity_auth', () => sql.unsafe(reseal(hex(own.witness))))
    assert.deepEqual([...done], [{ done: true }])
    assert.equal(await stateOf(sql, other.user), before[1])
    assert.equal((await tried(hex(own.witness))).code, 'TN500', 'the previous witness')
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  factors_of_email: operatedGuarantee,
  factors_under_other_keys: operatedGuarantee,
  void_recovery_codes: operatedGuarantee,
  reseal_factor: resealGuarantee,
  own_salt: ownGuarantee,
  look_at_own_app: ownGuarantee,
  step_up: stepUpGuarantee,
  own_factors: ownGuarantee,
  make_draft: ownGuarantee,
  own_draft: ownGuarantee,
  rename_factor: ownGuarantee,
  remove_factor: ownGuarantee,
  renew_recovery_codes: ownGuarantee,
  request_setup_code: ownGuarantee,
  look_at_sign_in: signInGuarantee,
  finish_sign_in: signInGuarantee,
  delete_old_sign_ins: deletionGuarantee,
  delete_old_drafts: deletionGuarantee,
}
