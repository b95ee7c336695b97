import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import {
  givePasskey,
  hex,
  LIMIT,
  newPasskey,
  openFor,
  ownGuarantee,
  type Passkey,
  sha256,
  SOURCE,
  stateOf,
  twoOwners,
} from './factor-guarantees.ts'
import { needsSetupCode } from './first-factor-guarantees.ts'
import { as, attempt, type FunctionGuarantees, type Guarantee, sealedTicket } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

// The functions of passkeys. Each promise is about two users, each with an app, a passkey, recovery codes and an open sign-in.

/** A proof of a passkey. What is left out is right. */
export const proof = (
  { id, witness }: Pick<Passkey, 'id' | 'witness'>,
  {
    by = hex(witness),
    rpId = 'rp',
    count = 6,
    eligible = false,
    challenge = randomBytes(32),
    expires = `now() + interval '1 minute'`,
  } = {},
): string =>
  `row('${id}', ${by}, '${rpId}', ${count}, ${eligible}, false, ${hex(challenge)}, ${expires})::app.passkey_proof`

/** Each way to prove a passkey, of the user of an open sign-in or a ticket. Returns whether it did. */
const WAYS: Readonly<Record<string, (sql: postgres.Sql, of: Way, proven: string) => Promise<boolean>>> = {
  sign_in_by_passkey: async (sql, _of, proven) =>
    (
      await sql.unsafe(
        `select * from app.sign_in_by_passkey(${proven}, ${hex(randomBytes(32))}, sha256('c'), sha256('n'), null, 60, 60, 9, ${SOURCE})`,
      )
    ).length > 0,
  finish_sign_in: async (sql, { signIn }, proven) => {
    const [row] = await sql.unsafe<{ session_id: string | null }[]>(
      `select * from app.finish_sign_in(${hex(signIn)}, null, null, null, null, null, null, ${hex(randomBytes(32))}, sha256('c'), sha256('n'), null, 60, 60, 9, ${SOURCE}, null, null, null, null, ${proven})`,
    )
    return row !== undefined && row.session_id !== null
  },
  step_up: async (sql, { ticket }, proven) => {
    const [row] = await sql.unsafe<{ refused_by: string | null }[]>(
      `select * from app.step_up(decode($1, 'hex'), null, null, null, null, null, null, ${LIMIT}, ${hex(randomBytes(32))}, 60, ${SOURCE}, ${proven})`,
      [ticket],
    )
    return row?.refused_by === null
  },
}

interface Way {
  readonly signIn: Buffer
  readonly ticket: string
}

/** A proof that is wrong in one thing proves nothing, in each way; a right one does, once. */
const passkeyGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name}: a passkey proves its own user alone, with its witness, for each challenge once`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const [mine, foreign] = [await givePasskey(sql, own), await givePasskey(sql, other)]
    const ticket = await sealedTicket(sql, { user: own.user, session: world.sessions.own })
    const before = await stateOf(sql, other.user)
    for (const [way, prove] of Object.entries(WAYS)) {
      const signIn = randomBytes(32)
      await openFor(sql, own.user, signIn)
      const tried = (proven: string) => prove(sql, { signIn, ticket }, proven)
      for (const by of ['null', `sha256('x')`, hex(foreign.witness)]) {
        await sql`savepoint forged`
        await assert.rejects(tried(proof(mine, { by })), { code: 'TN500' }, `${way} ${by}`)
        await sql`rollback to savepoint forged`
      }
      const used = randomBytes(32)
      const wrong: Record<string, string> = {
        'another RP ID': proof(mine, { rpId: 'else' }),
        'a counter that stands still': proof(mine, { count: 5 }),
        'a counter of zero': proof(mine, { count: 0 }),
        'a changed backup flag': proof(mine, { eligible: true }),
        'an expired challenge': proof(mine, { expires: 'now()' }),
        'no time of the challenge': proof(mine, { expires: 'null' }),
        'no passkey': proof({ id: randomUUID(), witness: mine.witness }),
        'the app': proof({ id: own.factor, witness: own.witness }),
        ...(way === 'sign_in_by_passkey' ? {} : { 'the passkey of another': proof(foreign) }),
      }
      for (const [what, proven] of Object.entries(wrong)) assert.equal(await tried(proven), false, `${way}: ${what}`)
      assert.equal(await stateOf(sql, other.user), before, 'another user')
      await sql`savepoint disabled`
      await as(sql, 'none', () => sql`update app.users set disabled_at = now() where id = ${own.user}`)
      const sessions = () => as(sql, 'none', async () => (await sql`select from app.sessions`).length)
      const atFirst = await sessions()
      if (way === 'sign_in_by_passkey') assert.equal(await tried(proof(mine)), false, 'of a disabled user')
      assert.equal(await sessions(), atFirst, 'a session of a disabled user')
      await sql`rollback to savepoint disabled`
      await sql`savepoint proven`
      assert.equal(await tried(proof(mine, { challenge: used })), true, way)
      const again = randomBytes(32)
      await openFor(sql, own.user, again)
      assert.equal(
        await prove(sql, { signIn: again, ticket }, proof(mine, { count: 9, challenge: used })),
        false,
        'once',
      )
      await sql`rollback to savepoint proven`
    }
  },
})

/** A credential id finds one passkey, whose user signs in by it. */
export const credentialGuarantee = (world: TwoTenants): Guarantee => ({
  title: 'guarantee 6: no two passkeys have one credential id, of one user or of two',
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const { id } = await givePasskey(sql, own)
    const again = `
      insert into app.factors
      select (jsonb_populate_record(f, jsonb_build_object('id', gen_random_uuid(), 'user_id', $1::text))).*
        from app.factors f where f.id = $2`
    for (const { user } of [own, other]) {
      const outcome = await as(sql, 'none', () => attempt(sql, again, [user, id]))
      assert.deepEqual(outcome, { count: 0, code: '23505' })
    }
  },
})

/** What finds a passkey shows no witness, and none of another user than the one who is known. */
const findGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} shows the passkeys of one id, or of one open sign-in, and no witness`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const [mine] = [await givePasskey(sql, own), await givePasskey(sql, other)]
    const find = (credential: Buffer, limit = LIMIT) =>
      sql.unsafe(`select * from app.find_passkey(${hex(credential)}, ${limit})`)
    const found = await find(mine.credential)
    assert.deepEqual([found.length, found[0]?.['factor_id'], found[0]?.['user_id']], [1, mine.id, own.user])
    assert.ok(!JSON.stringify(found).includes(JSON.stringify(sha256(mine.witness))))
    assert.equal((await find(randomBytes(32))).length, 0)
    const [refused] = await find(mine.credential, `row(sha256('none left'), 0, 60)::app.limit`)
    assert.deepEqual([refused?.['refused_by'], refused?.['public_key']], ['second-factor-ip', null])
    const passkeys = (token: Buffer) => sql.unsafe(`select * from app.passkeys_of_sign_in(${hex(token)}, null, 'rp')`)
    assert.deepEqual([...(await passkeys(own.signIn))], [{ credential_id: mine.credential, transports: null }])
    assert.equal((await passkeys(randomBytes(32))).length, 0)
    for (const end of [
      'update app.open_sign_ins set expires_at = now() where user_id = $1',
      'update app.open_sign_ins set tries = 5 where user_id = $1',
    ]) {
      await sql`savepoint ended`
      await as(sql, 'none', () => sql.unsafe(end, [own.user]))
      assert.equal((await passkeys(own.signIn)).length, 0, end)
      await sql`rollback to savepoint ended`
    }
  },
})

/** A ticket shows its user's passkeys. */
const ownPasskeyGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} shows a passkey of the ticket's user, whatever id it gets`,
  holds: async (sql) => {
    const [own, other] = await twoOwners(sql, world)
    const [mine, foreign] = [await givePasskey(sql, own), await givePasskey(sql, other)]
    const look = (credential: Buffer, session: string) =>
      sealedTicket(sql, { user: own.user, session }).then((ticket) =>
        attempt(sql, `select from app.look_at_own_passkey(decode($1, 'hex'), ${hex(credential)}, ${LIMIT})`, [ticket]),
      )
    const live = world.sessions.own
    assert.deepEqual(await look(mine.credential, live), { count: 1, code: '' })
    assert.deepEqual(await look(foreign.credential, live), { count: 0, code: '' })
    for (const [why, session] of world.sessions.dead.filter(([of]) => of !== "a disabled user's"))
      assert.deepEqual(await look(mine.credential, session), { count: 0, code: '' }, why)
  },
})

/** The first factor needs a setup code of its user and a draft; an id and a challenge serve once. */
const addGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds to the ticket's user alone, with a setup code and a draft of theirs if it is the first factor`,
  holds: async (sql) => {
    await sql`savepoint of_one`
    await ownGuarantee(world, name).holds(sql)
    await sql`rollback to savepoint of_one`
    const [own, other] = await twoOwners(sql, world)
    const foreign = await givePasskey(sql, other)
    const ticket = await sealedTicket(sql, { user: own.user, session: world.sessions.own })
    const add = async (passkey: string, draft = own.draft, setup = 'null') => {
      const [row] = await sql.unsafe<{ refused_by: string | null }[]>(
        `select * from app.add_passkey(decode($1, 'hex'), ${passkey}, '${draft}', '', ${setup}, null, sha256('new'), 60, 3600, ${SOURCE})`,
        [ticket],
      )
      return row?.refused_by
    }
    assert.equal(await add(newPasskey(foreign.credential)), 'passkey-exists')
    const challenge = randomBytes(32)
    assert.equal(await add(newPasskey(randomBytes(20), challenge)), null)
    assert.equal(await add(newPasskey(randomBytes(20), challenge)), 'proof')
    await needsSetupCode(sql, [own, other], (draft, setup) => add(newPasskey(randomBytes(20)), draft, setup))
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  find_passkey: findGuarantee,
  passkeys_of_sign_in: findGuarantee,
  sign_in_by_passkey: passkeyGuarantee,
  look_at_own_passkey: ownPasskeyGuarantee,
  add_passkey: addGuarantee,
}
