import { createClient, expectStatus } from './http-client.ts'
import type { BenchProcess } from './processes.ts'
import { median, quantile, rotated } from './statistics.ts'
import type { Verified } from './verify-process.ts'

/** One kind of sign-in: medians in milliseconds, and the median ratio to the paired bare verify. */
export interface LoginTimes {
  readonly kind: string
  readonly pairs: number
  readonly verifyMs: number
  readonly loginMs: number
  readonly loginP99: number
  readonly ratio: number
  /** The ratio of the 10th percentiles, which other load on the machine hardly affects. */
  readonly undisturbedRatio: number
}

const WARM_UPS = 5

interface Pair {
  readonly kind: string
  readonly verifyMs: number
  readonly loginMs: number
}

/** Times sign-ins one by one, each paired with a bare verify of the same hash directly before or after it. */
export async function measureLogin(
  serviceUrl: string,
  verifier: BenchProcess<object, object, Verified>,
  { emails, password, pairs }: { emails: readonly string[]; password: string; pairs: number },
): Promise<LoginTimes[]> {
  const call = createClient(serviceUrl)
  const kinds = [
    { kind: 'right password', status: 200, body: (at: number) => ({ email: emails[at % emails.length], password }) },
    {
      kind: 'wrong password',
      status: 401,
      body: (at: number) => ({ email: emails[at % emails.length], password: `${password}, wrong` }),
    },
    { kind: 'unknown email', status: 401, body: (at: number) => ({ email: `nobody${at}@bench.test`, password }) },
  ]

  const measured: Pair[] = []
  for (let at = -WARM_UPS; at < pairs; at += 1) {
    for (const { kind, status, body } of rotated(kinds, at + WARM_UPS)) {
      const login = async () =>
        expectStatus(await call('POST /v1/auth/login', { body: body(at + WARM_UPS) }), status, kind).ms
      const verify = async () => (await verifier.ask({})).ms
      const loginFirst = at % 2 === 0
      const first = await (loginFirst ? login() : verify())
      const second = await (loginFirst ? verify() : login())
      const [loginMs, verifyMs] = loginFirst ? [first, second] : [second, first]
      if (at >= 0) measured.push({ kind, verifyMs, loginMs })
    }
  }
  return kinds.map(({ kind }) => {
    const own = measured.filter((pair) => pair.kind === kind)
    const logins = own.map(({ loginMs }) => loginMs)
    const verifies = own.map(({ verifyMs }) => verifyMs)
    return {
      kind,
      pairs: own.length,
      verifyMs: median(verifies),
      loginMs: median(logins),
      loginP99: quantile(logins, 0.99),
      ratio: median(own.map(({ loginMs, verifyMs }) => loginMs / verifyMs)),
      undisturbedRatio: quantile(logins, 0.1) / quantile(verifies, 0.1),
    }
  })
}
