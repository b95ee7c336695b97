import { describeError } from '#shared/base/log.ts'
import type { ProbeFailure } from './probe-sign-in.ts'

const REQUEST_TIMEOUT_MS = 5000
/** Well-formed, and of no session. */
const NO_SESSION = 'A'.repeat(43)

/**
 * Opens two pages at the front end's public address: the sign-in, and a page of a session that has ended. The front end must ask
 * the API about the second. Returns null, or the first step that failed.
 */
export async function probePages(url: string): Promise<ProbeFailure | null> {
  let step = 'open the sign-in'
  const open = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL(path, url), { headers, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  try {
    const signIn = await open('/sign-in')
    if (signIn.status !== 200 || !(await signIn.text()).includes('action="/sign-in"'))
      return { step, status: signIn.status }
    step = 'be led to the sign-in without a session'
    const account = await open('/account', { cookie: `__Host-tenantry=${NO_SESSION}` })
    const led = account.status === 303 && account.headers.get('location')?.includes('notice=session-ended') === true
    return led ? null : { step, status: account.status }
  } catch (error) {
    return { step, error: describeError(error) }
  }
}
