import { createClient, expectStatus } from './http-client.ts'
import type { BenchProcess, ServerProcess } from './processes.ts'
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
  /** What a sign-in takes beside the hash: the difference of the medians, and of the 10th percentiles, which other load hardly affects. */
  readonly besideMs: number
  readonly undisturbedBesideMs: number
  /** The ratio of the processor time of the service to that of the paired verify. */
  readonly cpuRatio: number
}

const WARM_UPS = 5

interface Pair {
  readonly kind: string
  readonly verifyMs: number
  readonly loginMs: number
  readonly verifyCpuMs: number
  readonly loginCpuMs: number
}

/** Times sign-ins one by one, each paired with a bare verify of the same hash directly before or after it. */
export async function measureLogin(
  service: ServerProcess,
  verifier: BenchProcess<object, object, Verified>,
  { emails, password, pairs }: { emails: readonly string[]; password: string; pairs: number },
): Promise<LoginTimes[]> {
  const call = createClient(service.greeting.url)
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
      const login = async (): Promise<Verified> => {
        const before = await service.ask({})
        const { ms } = expectStatus(await call('POST /v1/auth/login', { body: body(at + WARM_UPS) }), status, kind)
        const after = await service.ask({})
        return { ms, cpuMs: (after.cpuMicros - before.cpuMicros) / 1000 }
      }
      const verify = () => verifier.ask({})
      const loginFirst = at % 2 === 0
      const first = await (loginFirst ? login() : verify())
      const second = await (loginFirst ? verify() : login())
      const [signedIn, verified] = loginFirst ? [first, second] : [second, first]
      if (at < 0) continue
      measured.push({
        kind,
        verifyMs: verified.ms,
        loginMs: signedIn.ms,
        verifyCpuMs: verified.cpuMs,
        loginCpuMs: signedIn.cpuMs,
      })
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
      besideMs: median(logins) - median(verifies),
      undisturbedBesideMs: quantile(logins, 0.1) - quantile(verifies, 0.1),
      cpuRatio: median(own.map(({ loginCpuMs, verifyCpuMs }) => loginCpuMs / verifyCpuMs)),
    }
  })
}
