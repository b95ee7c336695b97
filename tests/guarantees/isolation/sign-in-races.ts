import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { finish, give, givePasskey, hex, SOURCE } from './factor-guarantees.ts'
import { proof } from './passkey-guarantees.ts'
import { passwordOf } from './proof-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

// What a sign-in does beside another transaction of its user, in a forced order.

/** A promise about two transactions, the functions whose locks keep it, and its check, which commits what it does. */
export interface Race {
  readonly title: string
  readonly locks: readonly (readonly [name: string, lock: string])[]
  readonly holds: (world: TwoTenants) => Promise<void>
}

const { digest, hash } = passwordOf('the password of the race')

/** Creates a user with a password, an app, a passkey, a draft, a recovery code, an open sign-in and a session. */
async function newOwner({ admin }: TwoTenants) {
  const email = `${randomUUID()}@races.test`
  const id = await createUser(admin, { email })
  await admin`update app.users set password_hash = ${hash} where id = ${id}`
  const session = await mintSession(admin, { email })
  const owned = await give(admin, id, session.id)
  const passkey = await givePasskey(admin, owned)
  return { ...owned, email, passkey, sessionId: session.id }
}
type Owner = Awaited<ReturnType<typeof newOwner>>

const signIn = ({ email }: Owner): string =>
  `select from app.sign_in('${email}', ${hex(digest)}, ${hex(randomBytes(32))}, sha256('c'), sha256('n'), null, 60, 60, 50, ${SOURCE})`

const finishByCode = (owner: Owner): string =>
  finish(owner, `'${owner.factor}', 200, ${hex(owner.witness)}, null, null`)
const finishByRecoveryCode = (owner: Owner): string => finish(owner, `null, null, null, ${hex(owner.code)}, null`)
const signInByPasskey = ({ passkey }: Owner): string =>
  `select from app.sign_in_by_passkey(${proof(passkey)}, ${hex(randomBytes(32))}, sha256('c'), sha256('n'), null, 60, 60, 9, ${SOURCE})`

/**
 * Runs two statements, each in a transaction of its own. The second begins when the first has run. The first commits when the
 * second waits for it, or has ended without a wait.
 */
async function runBeside({ admin, database }: TwoTenants, first: string, second: string): Promise<void> {
  const [one, two] = [await database.admin.reserve(), await database.admin.reserve()]
  try {
    const [backend] = await two<{ pid: number }[]>`select pg_backend_pid() as pid`
    await one`begin`
    await one.unsafe(first)
    const ended = new AbortController()
    const running = two.unsafe(second).finally(() => ended.abort())
    const isBlocked = async () => (await admin`select from unnest(pg_blocking_pids(${backend?.pid ?? 0}))`).length > 0
    while (!ended.signal.aborted && !(await isBlocked()));
    await one`commit`
    await running
  } finally {
    await one`rollback`
    one.release()
    two.release()
  }
}

/** Returns the live sessions that a user got during a race: whether each has two factors. */
async function gained({ admin }: TwoTenants, { user, sessionId }: Owner): Promise<readonly boolean[]> {
  const rows = await admin<{ two: boolean }[]>`
    select second_factor_at is not null as two from app.sessions
     where user_id = ${user} and id <> ${sessionId} and revoked_at is null`
  return rows.map(({ two }) => two)
}

export const SIGN_IN_RACES: readonly Race[] = [
  {
    title: 'a sign-in beside the first factor of its user leaves no live session with one factor, whichever is first',
    locks: [
      ['sign_in', 'for no key update'],
      ['enter_factors', 'for no key update'],
    ],
    holds: async (world) => {
      for (const factorFirst of [true, false]) {
        const owner = await newOwner(world)
        const setup = randomBytes(32)
        await world.admin`delete from app.factors where user_id = ${owner.user}`
        await world.admin`
          insert into app.tokens (token_hash, purpose, user_id, expires_at) values (${setup}, 'factor_setup', ${owner.user}, 'infinity')`
        const ticket = await ticketOf(world.admin, owner.sessionId)
        const add = `
          select app.add_app(${hex(ticket)}, '${owner.draft}', '${randomUUID()}', sha256('x'), '${randomUUID()}', sha256('w'), 1, '',
                             ${hex(setup)}, null, ${hex(randomBytes(32))}, 60, 3600, ${SOURCE})`
        if (factorFirst) await runBeside(world, add, signIn(owner))
        else await runBeside(world, signIn(owner), add)
        assert.equal((await world.admin`select from app.factors where user_id = ${owner.user}`).length, 1)
        assert.deepEqual(await gained(world, owner), [], factorFirst ? 'after the factor' : 'before the factor')
      }
    },
  },
  {
    title: 'a sign-in beside a change of the password, or beside the end of its user, makes no session',
    locks: [
      ['sign_in', 'for no key update'],
      ['finish_sign_in', 'for no key update'],
      ['sign_in_by_passkey', 'for no key update'],
    ],
    holds: async (world) => {
      const CHANGED = `password_hash = 'another', resets_valid_from = clock_timestamp()`
      for (const [end, by] of [
        [CHANGED, signIn],
        [CHANGED, finishByCode],
        ['disabled_at = now()', signInByPasskey],
      ] as const) {
        const owner = await newOwner(world)
        if (by === signIn) await world.admin`delete from app.factors where user_id = ${owner.user}`
        await runBeside(world, `update app.users set ${end} where id = '${owner.user}'`, by(owner))
        assert.deepEqual(await gained(world, owner), [], by.name)
      }
    },
  },
  {
    title: 'two proofs at the same time finish an open sign-in once',
    locks: [['finish_sign_in', 'for update']],
    holds: async (world) => {
      const owner = await newOwner(world)
      await runBeside(world, finishByCode(owner), finishByRecoveryCode(owner))
      assert.deepEqual(await gained(world, owner), [true])
    },
  },
]
