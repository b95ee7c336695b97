import { expect, it } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { passwordGuesses } from '#shared/password/password-guesses.ts'

const COST = { memoryKib: 19_456, iterations: 2 }

const cpuMs = async (work: () => unknown): Promise<number> => {
  const usage = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(usage)
  return (user + system) / 1000
}

const leastOf = async (work: () => unknown): Promise<number> => {
  const costs: number[] = []
  for (let round = 0; round < 5; round += 1) costs.push(await cpuMs(work))
  return Math.min(...costs)
}

// The costliest of 128 characters that searches for the maximum found: the first of all, then of each kind as a whole.
const COSTLY = [
  '23231233331312111332321313223121111131121331321233123211322131112221113131233331323232311122113332122121131133311312332332121112',
  `10101|1010101010${'1'.repeat(54)}682568/01a1111a1111111aaa10111111111111-.//0./-.0-/00`,
  `1${'12'.repeat(63)}3`,
  '11111111'.repeat(16),
  '19901991'.repeat(16),
  `${'1'.repeat(127)}2`,
  Array.from({ length: 128 }, (_, at) => 1 + (((at * at + at * 7) % 3) % 2)).join(''),
  Array.from({ length: 128 }, (_, at) => (at * at * 31 + at * 17) % 10).join(''),
  '4@8({<3€5$1!|0%7+2'.repeat(8).slice(0, 128),
  'qwertyuiop[]asdfghjkl;zxcvbnm,./'.repeat(4),
  'password1'.repeat(15).slice(0, 128),
]

it('estimates any password of 128 characters in no more than three times the time of a password hash', async () => {
  const guesses = await passwordGuesses()
  const hash = await leastOf(() => hashPassword('seven green printing presses', COST))
  const costs: string[] = []
  for (const password of COSTLY) {
    const cost = await leastOf(() => guesses.count(password))
    costs.push(cost.toFixed(0))
    expect(cost, password).toBeLessThan(3 * hash)
  }
  console.log(`hash: ${hash.toFixed(0)} ms; estimates: ${costs.join(' ')} ms`)
})
