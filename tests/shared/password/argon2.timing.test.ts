import { describe, it } from 'vitest'
import { digestPassword, hashPassword } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { expectSameCost } from '#tests/support/compare.ts'

describe('digestPassword', () => {
  it('does the work of one hash even without a usable salt, or with one of a lower cost', async () => {
    const cost = { memoryKib: 8192, iterations: 2 }
    const saltAt = async (of: Cost) => (await hashPassword('any', of)).replace(/[$][^$]*$/, '')
    const salt = await saltAt(cost)
    const older = await saltAt({ memoryKib: 4096, iterations: 2 })
    const against = (of: string) => () => digestPassword('a wrong password', of, cost)
    await expectSameCost({
      'a salt': against(salt),
      'one of half the cost': against(older),
      'an empty one': against(''),
      'that of another scheme': against('$2b$12$x'),
      'one too costly': against(salt.replace('m=8192', 'm=4194304')),
    })
  })
})
