import { describe, it } from 'vitest'
import { hashPassword, verifyPassword } from '#shared/password/argon2.ts'
import { expectSameCost } from '#tests/support/compare.ts'

describe('verifyPassword', () => {
  it('does the work of one hash even without a usable hash, or with one of a lower cost', async () => {
    const cost = { memoryKib: 8192, iterations: 2 }
    const hash = await hashPassword('correct horse battery staple', cost)
    const older = await hashPassword('correct horse battery staple', { memoryKib: 4096, iterations: 2 })
    const against = (of: string | null) => () => verifyPassword('a wrong password', of, cost)
    await expectSameCost({
      'a hash': against(hash),
      'a hash of half the cost': against(older),
      none: against(null),
      'an empty one': against(''),
      'that of another scheme': against('$2b$12$x'),
      'one too costly': against(hash.replace('m=8192', 'm=4194304')),
    })
  })
})
