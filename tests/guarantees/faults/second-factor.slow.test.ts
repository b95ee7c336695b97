import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { addSecondFactor } from '#infra/local/seed-secured.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { loginsOf } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { codeNow } from '#tests/support/factor.ts'
import { createUser } from '#tests/support/minted-session.ts'
import { type ServerProcess, startServerProcess } from '#tests/support/server-process.ts'
import { FACTOR_KEY, PEPPER } from '#tests/support/settings.ts'

const LOGIN = loginName('auth')

let database: TestDatabase
let cache: Awaited<ReturnType<typeof startCache>>
let server: ServerProcess
beforeAll(async () => {
  ;[database, cache] = await Promise.all([createTestDatabase(), startCache({ force: 'in-process' })])
  // What waits for a lock of a test goes on when the test releases it, and not before.
  for (const setting of ['lock_timeout', 'statement_timeout'])
    await database.admin.unsafe(`alter role ${LOGIN} in database ${database.name} set ${setting} = 0`)
})
beforeEach(async () => {
  server = await startServer()
})
afterAll(async () => {
  await cache.close()
  await database.drop()
})

/** Starts an instance, which the test may lose. */
async function startServer(): Promise<ServerProcess> {
  const started = await startServerProcess({
    logins: loginsOf(database.urls),
    tokenSecrets: { pepper: PEPPER, mailKey: PEPPER },
    cache: { url: cache.url, token: cache.token },
  })
  onTestFinished(() => started.stop())
  return started
}

let people = 0

/** Creates a person with an app and recovery codes, who has opened a sign-in. */
async function newPerson() {
  people += 1
  const email = `person-${'x'.repeat(people)}@acme.test`
  const { admin } = database
  const id = await createUser(admin, { email, slugs: ['acme-print'] })
  await admin`
    update app.users set password_hash = (select password_hash from app.users where email = 'owner@acme.test') where id = ${id}`
  const [secret, recoveryCodes] = [newTotpSecret(), newRecoveryCodes()]
  await addSecondFactor(admin, id, { pepper: PEPPER, factorKey: FACTOR_KEY, totpSecret: secret, recoveryCodes })
  return { id, email, secret, recoveryCodes }
}

type Person = Awaited<ReturnType<typeof newPerson>>

const openSignIn = async ({ email }: Person): Promise<string> =>
  (await server.logIn(email)).body.second_factor.sign_in_token

const finish = (signInToken: string, proof: object) =>
  server.request('POST /v1/auth/login/second-factor', { body: { sign_in_token: signInToken, ...proof } })

const stepUp = (token: string, proof: object) => server.request('POST /v1/auth/step-up', { token, body: proof })

/** Signs in by a recovery code, which leaves the code of the app unused. */
async function signIn(person: Person): Promise<string> {
  const { body } = await finish(await openSignIn(person), { recovery_code: person.recoveryCodes[9] })
  return body.token
}

/**
 * Loses the instance while the statement of a request waits for rows that `lock` locks: the statement still commits, and nothing follows
 * it. Returns when it has ended.
 */
async function loseDuring(request: () => Promise<unknown>, lock: string): Promise<void> {
  const { admin } = database
  const statements = () => admin<{ waits_for: string | null }[]>`
    select wait_event_type as waits_for from pg_stat_activity
     where usename = ${LOGIN} and datname = ${database.name} and state = 'active'`
  const until = (is: () => Promise<boolean>) => vi.waitUntil(is, { timeout: 15_000, interval: 10 })
  await admin.begin(async (tx) => {
    expect(await tx.unsafe(lock)).toHaveLength(1)
    const outcome = request().then(
      () => 'answered',
      () => 'lost',
    )
    await until(async () => (await statements()).some((each) => each.waits_for === 'Lock'))
    await server.kill()
    expect(await outcome).toBe('lost')
  })
  await until(async () => (await statements()).length === 0)
  server = await startServer()
}

const looking = (table: string, { id }: Person) => `select from app.${table} where user_id = '${id}' for update`
const finishing = ({ id }: Person) => `select from app.users where id = '${id}' for no key update`

const sessionsOf = ({ id }: Person) => database.admin<{ has_factor: boolean; is_live: boolean }[]>`
  select second_factor_at is not null as has_factor, revoked_at is null as is_live from app.sessions where user_id = ${id}`

const PROOFS = {
  code: ({ secret }: Person) => ({ code: codeNow(secret) }),
  'recovery code': ({ recoveryCodes }: Person) => ({ recovery_code: recoveryCodes[0] }),
}

describe.for(['code', 'recovery code'] as const)(
  'an instance that dies while it finishes a sign-in by a %s',
  (kind) => {
    it('uses nothing up between look and finish: the same proof finishes the same sign-in', async () => {
      const person = await newPerson()
      const [token, proof] = [await openSignIn(person), PROOFS[kind](person)]
      await loseDuring(() => finish(token, proof), looking('open_sign_ins', person))
      expect(await sessionsOf(person)).toEqual([])
      const [open] = await database.admin`select tries from app.open_sign_ins where user_id = ${person.id}`
      expect(open).toEqual({ tries: 1 })
      expect((await finish(token, proof)).status).toBe(200)
      expect(await sessionsOf(person)).toEqual([{ has_factor: true, is_live: true }])
    })

    it('accepts a proof once whose answer was lost: neither that sign-in nor another takes it again', async () => {
      const person = await newPerson()
      const [token, another, proof] = [await openSignIn(person), await openSignIn(person), PROOFS[kind](person)]
      await loseDuring(() => finish(token, proof), finishing(person))
      expect(await sessionsOf(person)).toEqual([{ has_factor: true, is_live: true }])
      expect((await finish(token, proof)).status).toBe(400)
      expect((await finish(another, proof)).status).toBe(422)
      expect(await sessionsOf(person)).toHaveLength(1)
    })
  },
)

describe('an instance that dies during a step-up', () => {
  it('leaves the token alive between look and finish, and the code unused', async () => {
    const person = await newPerson()
    const [token, proof] = [await signIn(person), PROOFS.code(person)]
    await loseDuring(() => stepUp(token, proof), looking('factors', person))
    expect((await server.request('GET /v1/auth/session', { token })).status).toBe(200)
    expect((await stepUp(token, proof)).status).toBe(200)
  })

  it('ends the token when its answer was lost, keeps the session, and the code is used', async () => {
    const person = await newPerson()
    const [token, proof] = [await signIn(person), PROOFS.code(person)]
    await loseDuring(() => stepUp(token, proof), finishing(person))
    expect((await server.request('GET /v1/auth/session', { token })).status).toBe(401)
    expect(await sessionsOf(person)).toEqual([{ has_factor: true, is_live: true }])
    expect((await finish(await openSignIn(person), proof)).status).toBe(422)
    // The person gets another session, and no other way is shut.
    expect((await finish(await openSignIn(person), { recovery_code: person.recoveryCodes[1] })).status).toBe(200)
  })
})
