import { randomBytes } from 'node:crypto'
import * as OTPAuth from 'otpauth'
import { hashPassword } from '#shared/password/argon2.ts'
import { createUser, mintSession } from './minted-session.ts'
import { type Answer, PASSWORD, type TestService } from './service.ts'

/** A user of acme-print with a password and an authenticator app, whose codes another author's library makes. */
export interface FactorUser {
  readonly id: string
  readonly email: string
  readonly secret: string
  readonly recoveryCodes: readonly string[]
  /** Of the session that added the app. */
  readonly token: string
  readonly factorId: string
}

const COST = { memoryKib: 64, iterations: 1 }

/** Creates a user with a password and no factor, and a session that has just signed in. */
export async function newUser(service: TestService, slugs: readonly string[] = ['acme-print']) {
  // Letters alone: a code that a test looks for in a mail has digits.
  const name = Buffer.from(randomBytes(12).map((byte) => 97 + (byte % 26))).toString()
  const email = `factor-${name}@acme.test`
  const id = await createUser(service.sql, { email, slugs })
  await service.sql`update app.users set password_hash = ${await hashPassword(PASSWORD, COST)} where id = ${id}`
  const session = await mintSession(service.sql, { email })
  return { id, email, token: session.token, sessionId: session.id }
}

/** Returns the code of a secret, so many steps from now. */
export const codeNow = (secret: string, steps = 0): string =>
  new OTPAuth.TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })

/** Returns a code that no app of ours makes for the secret now. */
export function wrongCode(secret: string): string {
  const right = new Set([-2, -1, 0, 1, 2].map((steps) => codeNow(secret, steps)))
  return ['000000', '000001', '000002', '000003', '000004', '000005'].find((code) => !right.has(code)) ?? ''
}

/** Mails the setup code to the user of a session, and returns it. */
export async function mailedSetupCode(service: TestService, { email, token }: { email: string; token: string }) {
  const asked = await service.request('POST /v1/auth/factors/setup-code', { token })
  if (asked.status !== 204) throw new Error(`setup code: ${asked.status} ${asked.text}`)
  await service.mail.deliver()
  // Mails of one run arrive in any order.
  const [code] = service.mail.to(email).flatMap(({ text }) => SETUP_CODE.exec(text ?? '')?.[0] ?? [])
  if (code === undefined) throw new Error(`no setup code was mailed to ${email}`)
  return code
}

const SETUP_CODE = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/

export async function newDraft(service: TestService, token: string, body: object = {}): Promise<Answer> {
  const draft = await service.request('POST /v1/auth/factors/draft', { token, body })
  if (draft.status !== 200) throw new Error(`draft: ${draft.status} ${draft.text}`)
  return draft
}

/** Creates a user, and adds an app through the API. */
export async function newFactorUser(service: TestService, slugs?: readonly string[]): Promise<FactorUser> {
  const user = await newUser(service, slugs)
  const { secret, recovery_codes: recoveryCodes } = (await newDraft(service, user.token)).body
  const setupCode = await mailedSetupCode(service, user)
  const added = await service.request('POST /v1/auth/factors/totp', {
    token: user.token,
    body: { code: codeNow(secret), setup_code: setupCode },
  })
  if (added.status !== 200) throw new Error(`app: ${added.status} ${added.text}`)
  const { id, email } = user
  await forgetStep(service, id)
  return { id, email, secret, recoveryCodes, token: added.body.token, factorId: added.body.factor.id }
}

/** Makes the code of now good again, as time would. */
export const forgetStep = (service: TestService, userId: string) =>
  service.sql`update app.factors set last_step = 0 where user_id = ${userId}`

/** Signs in with the password alone. */
export const login = (service: TestService, email: string, token?: string): Promise<Answer> =>
  service.request('POST /v1/auth/login', { token, body: { email, password: PASSWORD } })

/** Signs in with the password, and returns the token of the open sign-in. */
export async function openSignIn(service: TestService, email: string): Promise<string> {
  const { body, text } = await login(service, email)
  if (body.second_factor === undefined) throw new Error(`no open sign-in: ${text}`)
  return body.second_factor.sign_in_token
}

/** Finishes an open sign-in by a proof. */
export const finish = (service: TestService, signInToken: string, proof: object, token?: string): Promise<Answer> =>
  service.request('POST /v1/auth/login/second-factor', { token, body: { sign_in_token: signInToken, ...proof } })

export const stepUp = (service: TestService, token: string, proof: object): Promise<Answer> =>
  service.request('POST /v1/auth/step-up', { token, body: proof })
