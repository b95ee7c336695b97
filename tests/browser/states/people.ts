import { SEED_PASSWORD } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { type Client, createClient } from '#shared/client/client.ts'
import { newToken } from '#shared/secret/secret.ts'

/** A session that has ended: a token that the service does not know. */
export const ENDED = 'a session that has ended'

/** Who opens a page: an address, ENDED, or null for somebody without a session. `in` is the shop, if the person has several. */
export interface Person {
  readonly as: string | null
  readonly in?: string
}

export interface SignedIn extends Client {
  readonly token: string
}

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36'

/** Signs in by the API, and selects the shop: the only one, or the one with this slug. */
export async function signInByApi(stack: StackInfo, email: string, slug?: string): Promise<SignedIn> {
  const baseUrl = stack.gateway_url
  const body = { email, password: SEED_PASSWORD }
  // The list of sessions names the browser.
  const asBrowser: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('user-agent', BROWSER)
    return fetch(url, { ...init, headers })
  }
  const { call } = createClient({ baseUrl, fetch: asBrowser })
  const signedIn = await call('POST /v1/auth/login', { body })
  if ('second_factor' in signedIn) return finishSignIn(stack, signedIn.second_factor.sign_in_token)
  const { token } = signedIn
  const client = createClient({ baseUrl, token })
  const { data } = await client.call('GET /v1/auth/tenants')
  const wanted =
    slug === undefined && data.length > 1 ? undefined : data.find(({ tenant }) => tenant.slug === (slug ?? tenant.slug))
  if (wanted !== undefined && wanted.tenant.status !== 'suspended')
    await client.call('POST /v1/auth/tenants/{id}/select', { params: { id: wanted.tenant.id } })
  return { ...client, token }
}

/** Finishes the sign-in of the person with an authenticator app, who begins to set up another one. */
async function finishSignIn(
  { gateway_url: baseUrl, second_factor }: StackInfo,
  signInToken: string,
): Promise<SignedIn> {
  const [first = '', second = ''] = second_factor.recovery_codes
  const { token: begun } = await createClient({ baseUrl }).call('POST /v1/auth/login/second-factor', {
    body: { sign_in_token: signInToken, recovery_code: first },
  })
  const { token } = await createClient({ baseUrl, token: begun }).call('POST /v1/auth/step-up', {
    body: { recovery_code: second },
  })
  const client = createClient({ baseUrl, token })
  await client.call('POST /v1/auth/factors/draft', { body: {} })
  return { ...client, token }
}

/** Returns the session token of each person, who signs in once. */
export function sessions(stack: StackInfo): (person: Person) => Promise<string | null> {
  const tokens = new Map<string, Promise<string>>()
  return async ({ as, in: slug }) => {
    if (as === null) return null
    if (as === ENDED) return newToken()
    const key = `${as} ${slug}`
    const token = tokens.get(key) ?? signInByApi(stack, as, slug).then((signedIn) => signedIn.token)
    tokens.set(key, token)
    return token
  }
}
