import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { createPerson } from '#tests/support/minted-session.ts'
import { PASSWORD, startService, type TestService } from '#tests/support/service.ts'

/** The cost that the service has by default, so that what is compared is what an attacker would compare. */
const COST = { memoryKib: 19_456, iterations: 2 }
const ROUNDS = 60
const TOLERANCE = 0.1
/** A hash that is left out is off by 0.9, one at another cost by half; what shares the caches of a busy machine, by 0.15. */
const WORK_TOLERANCE = 0.3

let service: TestService
beforeAll(async () => {
  service = await startService({
    env: { ARGON2_MEMORY_KIB: String(COST.memoryKib), ARGON2_ITERATIONS: String(COST.iterations) },
  })
  const { admin } = service.database
  const hash = await hashPassword(PASSWORD, COST)
  for (const [email, passwordHash] of [
    ['known@timing.test', hash],
    ['disabled@timing.test', hash],
    ['no-password@timing.test', null],
  ] as const) {
    await createPerson(admin, { email })
    await admin`update app.users set password_hash = ${passwordHash} where email = ${email}`
  }
  await admin`update app.users set disabled_at = now() where email = 'disabled@timing.test'`
})
afterAll(() => service.close())

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

/** What it takes when next to nothing else runs: the first decile. */
const undisturbed = (values: readonly number[]): number => sorted(values)[Math.floor(values.length / 10)] ?? Number.NaN

/** The bounds that hold the true median 999 times in 1000, whatever the distribution (the sign test, inverted). */
const medianBounds = (values: readonly number[]): [lowest: number, highest: number] => {
  const reach = (3.29 * Math.sqrt(values.length)) / 2
  const ranks = sorted(values)
  return [
    ranks[Math.floor(values.length / 2 - reach)] ?? Number.NaN,
    ranks[Math.ceil(values.length / 2 + reach)] ?? Number.NaN,
  ]
}

const CAUSES = {
  'wrong password': { email: 'known@timing.test', password: 'a wrong password' },
  unknown: { email: 'whoever@timing.test', password: 'a wrong password' },
  disabled: { email: 'disabled@timing.test', password: PASSWORD },
  'no password': { email: 'no-password@timing.test', password: PASSWORD },
}
type Cause = keyof typeof CAUSES
type Times = Record<Cause, number>

const isCause = (name: string): name is Cause => name in CAUSES

describe('a sign-in that fails', () => {
  it('takes the same work and the same time for an unknown address, a disabled user, no password and a wrong one', {
    timeout: 120_000,
    // A measurement on a shared machine.
    retry: 2,
  }, async () => {
    const walls: Times[] = []
    const works: Times[] = []
    const causes = Object.keys(CAUSES).filter(isCause)
    let seed = 7
    for (let round = -3; round < ROUNDS; round += 1) {
      // In an order of its own in every round, so that neither a drift of the machine nor what ran before, whose
      // memory is collected, falls on one of them. Each is then compared with its own round.
      const order = causes
        .map((cause) => {
          seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
          return { cause, place: seed >> 8 }
        })
        .toSorted((a, b) => a.place - b.place)
      const wall: Times = { 'wrong password': 0, unknown: 0, disabled: 0, 'no password': 0 }
      const work: Times = { ...wall }
      for (const { cause } of order) {
        const started = performance.now()
        const usage = process.cpuUsage()
        const { status } = await service.request('POST /v1/auth/login', { body: CAUSES[cause] })
        const { user, system } = process.cpuUsage(usage)
        wall[cause] = performance.now() - started
        work[cause] = (user + system) / 1000
        expect(status).toBe(401)
      }
      // The first rounds warm up.
      if (round >= 0) {
        walls.push(wall)
        works.push(work)
      }
    }
    const usual = undisturbed(works.map((work) => work['wrong password']))
    // A hash was computed at all: with none, an answer takes a few milliseconds.
    expect(usual).toBeGreaterThan(15)
    for (const cause of causes) {
      // The service runs in this process, so that its work is known; other work on the machine slows it by its caches.
      const ratio = undisturbed(works.map((work) => work[cause])) / usual
      expect(Math.abs(ratio - 1), `${cause}: ${ratio.toFixed(3)} of the work`).toBeLessThan(WORK_TOLERANCE)
      // The time that a client sees is judged by how well it is known: a busy machine widens the bounds.
      const [lowest, highest] = medianBounds(walls.map((wall) => wall[cause] / wall['wrong password']))
      const bounds = `${cause}: ${lowest.toFixed(3)} to ${highest.toFixed(3)} of the time`
      expect(lowest, bounds).toBeLessThan(1 + TOLERANCE)
      expect(highest, bounds).toBeGreaterThan(1 - TOLERANCE)
    }
  })
})
