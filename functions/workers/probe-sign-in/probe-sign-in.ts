import * as v from 'valibot'
import { describeError } from '#shared/base/log.ts'

/** The user that signs in. It belongs to a tenant of its own, without data. */
export const ProbeUser = v.object({ email: v.string(), password: v.string() })

const REQUEST_TIMEOUT_MS = 5000
const SignedIn = v.object({ token: v.string() })

/** The request that failed, and the status or the error that it got. */
export interface ProbeFailure {
  readonly step: string
  readonly status?: number
  readonly error?: object
}

/**
 * Signs in at the API's public address, reads the session, signs out, and checks that the session has ended. Returns null, or
 * the first step that failed.
 */
export async function probeSignIn(url: string, user: v.InferOutput<typeof ProbeUser>): Promise<ProbeFailure | null> {
  const ask = (method: string, path: string, token: string | null, body?: object): Promise<Response> =>
    fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  let step = 'sign in'
  try {
    const signedIn = await ask('POST', 'v1/auth/login', null, user)
    if (signedIn.status !== 200) return { step, status: signedIn.status }
    const { token } = v.parse(SignedIn, await signedIn.json())
    for (const [name, method, expected] of [
      ['read the session', 'GET', 200],
      ['sign out', 'DELETE', 204],
      ['be refused after the sign-out', 'GET', 401],
    ] as const) {
      step = name
      const response = await ask(method, 'v1/auth/session', token)
      await response.arrayBuffer()
      if (response.status !== expected) return { step, status: response.status }
    }
    return null
  } catch (error) {
    return { step, error: describeError(error) }
  }
}
