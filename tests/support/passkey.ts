import { Authenticator, type Lie } from './authenticator.ts'
import { newFactorUser } from './factor.ts'
import type { Answer, TestService } from './service.ts'

export const ORIGIN = 'http://localhost:3001'

export const newPasskeyOptions = async (service: TestService, token: string) => {
  const answer = await service.request('POST /v1/auth/factors/passkey-options', { token })
  if (answer.status !== 200) throw new Error(`options: ${answer.status} ${answer.text}`)
  return answer.body.options
}

/** The options of a sign-in by a passkey alone or, with a token, of the second factor of an open sign-in. */
export const signInOptions = async (service: TestService, signInToken?: string) => {
  const body = { sign_in_token: signInToken }
  const answer = await service.request('POST /v1/auth/login/passkey-options', { body })
  if (answer.status !== 200) throw new Error(`options: ${answer.status} ${answer.text}`)
  return answer.body.options
}

export const stepUpOptions = async (service: TestService, token: string) => {
  const answer = await service.request('POST /v1/auth/step-up/passkey-options', { token })
  if (answer.status !== 200) throw new Error(`options: ${answer.status} ${answer.text}`)
  return answer.body.options
}

export const addPasskey = (service: TestService, token: string, body: object): Promise<Answer> =>
  service.request('POST /v1/auth/factors/passkey', { token, body: { name: 'Laptop', ...body } })

/** Signs in with a passkey alone. */
export const signInBy = async (service: TestService, authenticator: Authenticator, lie: Lie = {}): Promise<Answer> =>
  service.request('POST /v1/auth/login/passkey', {
    body: { credential: authenticator.get(await signInOptions(service), lie) },
  })

/** Creates a user with an app and a passkey, added through the API. */
export async function newPasskeyUser(
  service: TestService,
  made: Omit<ConstructorParameters<typeof Authenticator>[0], 'origin'> = {},
) {
  const user = await newFactorUser(service)
  const authenticator = new Authenticator({ origin: ORIGIN, ...made })
  const credential = authenticator.create(await newPasskeyOptions(service, user.token))
  const added = await addPasskey(service, user.token, { credential })
  if (added.status !== 200) throw new Error(`passkey: ${added.status} ${added.text}`)
  return { ...user, token: String(added.body.token), passkeyId: String(added.body.factor.id), authenticator }
}
