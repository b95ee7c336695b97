import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { group } from '#functions/api/auth/group.ts'
import { derive } from '#shared/password/derive.ts'
import { startCounted } from '#tests/support/counted.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { type Answer, PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

// The spy counts the calls.
vi.mock('#shared/password/derive.ts', { spy: true })

describe('the work of a refused login', () => {
  const service = useService({ env: { LOGIN_EMAIL_LIMIT: '1' } })
  const hashes = async (call: () => Promise<Answer>): Promise<[status: number, hashes: number]> => {
    vi.mocked(derive).mockClear()
    const { status } = await call()
    return [status, vi.mocked(derive).mock.calls.length]
  }
  // One for each cost that a hash was ever stored with.
  const comparison = async () => (await service.sql`select from app.password_costs`).length

  it('computes no password hash for a login that is refused before the password check', async () => {
    const email = 'costly@limits.test'
    const post = (body: unknown) => () => service.request('POST /v1/auth/login', { body })
    expect(await hashes(post({ email, password: 'a wrong password' }))).toEqual([401, await comparison()])
    expect(await hashes(post({ email, password: 'a wrong password' }))).toEqual([429, 0])
    expect(await hashes(post({ email: 'costly', password: 'a wrong password' }))).toEqual([422, 0])
    expect(await hashes(post({ email }))).toEqual([422, 0])
    expect(await hashes(post({ email, password: 'x'.repeat(600) }))).toEqual([422, 0])
    expect(await hashes(post({ email, password: '\ud800' }))).toEqual([422, 0])
    expect(await hashes(post('{'))).toEqual([400, 0])
    expect(await hashes(post({ email: 'a@b.test', password: 'x'.repeat(20_000) }))).toEqual([413, 0])
  })

  it('makes three statements in two round trips and two calls of the cache for each login, whatever its outcome', async () => {
    const { ask, close } = await startCounted(service.database, group, {
      ARGON2_MEMORY_KIB: '64',
      ARGON2_ITERATIONS: '1',
    })
    onTestFinished(close)
    const { email: withApp } = await newFactorUser(service)
    // A browser sends so much that the commit leaves in a packet of its own. It waits for no reply all the same.
    const headers = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/153.0.0.0 Safari/537.36' }
    const costOf = async (password: string, email = 'admin@bolt.test') =>
      (await ask(gatewayEvent({ route: 'POST /v1/auth/login', headers, body: { email, password } }))).cost
    // The first requests prepare their statements.
    for (const password of [PASSWORD, 'a wrong password']) await costOf(password)
    // The third one has a BEGIN before it, and behind it the COMMIT, which cleans the connection.
    for (const password of [PASSWORD, 'a wrong password'])
      for (const email of ['admin@bolt.test', withApp])
        expect(await costOf(password, email)).toMatchObject({ statements: 5, roundTrips: 2, cache: 2 })
  })

  it('computes no password hash for a password change over its limit', async () => {
    await createUser(service.sql, { email: 'guesser@limits.test' })
    const { token } = await mintSession(service.sql, { email: 'guesser@limits.test' })
    const body = { current_password: 'a guess', new_password: 'a passphrase of the limits' }
    const change = () => service.request('POST /v1/auth/password/change', { token, body })
    expect(await hashes(change)).toEqual([422, await comparison()])
    expect(await hashes(change)).toEqual([429, 0])
  })
})
