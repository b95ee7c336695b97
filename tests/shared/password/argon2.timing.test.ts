import { describe, it } from 'vitest'
import { digestPassword, hashPassword } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { expectSameCost } from '#tests/support/compare.ts'

describe('digestPassword', () => {
  it('takes the same time without a usable salt, and with one of a lower or a higher cost', async () => {
    const cost = { memoryKib: 8192, iterations: 2 }
    const saltAt = async (of: Cost) => (await hashPassword('any', of)).replace(/[$][^$]*$/, '')
    const salt = await saltAt(cost)
    const [lower, higher] = [
      { memoryKib: 4096, iterations: 2 },
      { memoryKib: 16_384, iterations: 2 },
    ]
    const [older, costlier] = [await saltAt(lower), await saltAt(higher)]
    const against = (of: string) => () => digestPassword('a wrong password', of, [higher, cost, lower])
    await expectSameCost({
      'a salt': against(salt),
      'one of half the cost': against(older),
      'one of twice the cost': against(costlier),
      'an empty one': against(''),
      'that of another scheme': against('$2b$12$x'),
      'one too costly': against(salt.replace('m=8192', 'm=4194304')),
    })
  })
})
