import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addSecondFactor } from '#infra/local/seed-secured.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { codeNow } from '#tests/support/factor.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { FACTOR_KEY, PEPPER } from '#tests/support/settings.ts'
import { startWholeStack, type WholeStack } from '#tests/support/whole-stack.ts'

const EMAIL = 'owner@acme.test'
const totpSecret = newTotpSecret()

let stack: WholeStack
beforeAll(async () => {
  stack = await startWholeStack({ functions: ['auth'] })
  const { admin } = stack.database
  const [user] = await admin<{ id: string }[]>`select id from app.users where email = ${EMAIL}`
  const secured = { pepper: PEPPER, factorKey: FACTOR_KEY, totpSecret, recoveryCodes: newRecoveryCodes() }
  await addSecondFactor(admin, user?.id ?? '', secured)
})
afterAll(() => stack.close())

async function ask(route: string, { token, body }: { token?: string; body?: object } = {}) {
  const [method = '', path = ''] = route.split(' ')
  const response = await fetch(stack.gateway.url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: Object(await response.json()) }
}

const logIn = (password = PASSWORD) => ask('POST /v1/auth/login', { body: { email: EMAIL, password } })

/** Signs in with the password and a code. Returns the status of each step, and the token of the session. */
async function signIn() {
  await stack.database.admin`update app.factors set last_step = 0`
  const opened = await logIn()
  const body = { sign_in_token: opened.body.second_factor?.sign_in_token, code: codeNow(totpSecret) }
  const finished = await ask('POST /v1/auth/login/second-factor', { body })
  return { statuses: [opened.status, finished.status], token: String(finished.body.token) }
}

/** Lets the instance die in an invocation, as a crash does. The next request starts another. */
async function loseInstance() {
  await stack.faults.set({ part: 'instance', mode: 'kill' })
  // An invocation may end before it is killed.
  await vi.waitUntil(async () => (await ask('GET /v1/auth/session')).status === 502, { timeout: 15_000, interval: 0 })
  await stack.faults.set({ part: 'instance', mode: 'ok' })
}

describe('Secrets Manager that refuses calls', () => {
  it('keeps sign-ins with a second factor working in an instance that has started', async () => {
    expect((await signIn()).statuses).toEqual([200, 200])
    await stack.faults.set({ part: 'secretsmanager', mode: 'refuse' })
    expect((await signIn()).statuses).toEqual([200, 200])
    await stack.faults.set({ part: 'secretsmanager', mode: 'ok' })
  })

  it('makes a start answer 503 and never 401, to right and wrong credentials, and the next request works when it is back', async () => {
    const { token } = await signIn()
    await stack.faults.set({ part: 'secretsmanager', mode: 'refuse' })
    await loseInstance()
    const answers = [
      await ask('GET /v1/auth/session', { token }),
      await logIn(),
      await logIn('wrong'),
      await ask('POST /v1/auth/login/second-factor', { body: { sign_in_token: 'unknown', code: '000000' } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503])
    await stack.faults.set({ part: 'secretsmanager', mode: 'ok' })
    expect((await ask('GET /v1/auth/session', { token })).status).toBe(200)
    expect((await signIn()).statuses).toEqual([200, 200])
  })
})
