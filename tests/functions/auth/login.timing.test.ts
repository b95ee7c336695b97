import { beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { expectSameCost } from '#tests/support/compare.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

/** The default cost, which an attacker would measure. */
const COST = { memoryKib: 19_456, iterations: 2 }

const service = useService({
  env: { ARGON2_MEMORY_KIB: String(COST.memoryKib), ARGON2_ITERATIONS: String(COST.iterations) },
})
beforeAll(async () => {
  const { admin } = service.database
  const hash = await hashPassword(PASSWORD, COST)
  for (const [email, passwordHash] of [
    ['known@timing.test', hash],
    ['disabled@timing.test', hash],
    ['older@timing.test', await hashPassword(PASSWORD, { ...COST, memoryKib: 9728 })],
    // Of a time with a higher setting.
    ['costlier@timing.test', await hashPassword(PASSWORD, { ...COST, memoryKib: 2 * COST.memoryKib })],
    ['app@timing.test', hash],
    ['no-password@timing.test', null],
  ] as const) {
    await createUser(admin, { email })
    await admin`update app.users set password_hash = ${passwordHash} where email = ${email}`
  }
  await admin`update app.users set disabled_at = now() where email = 'disabled@timing.test'`
  await admin`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    select gen_random_uuid(), id, 'totp', 'App', gen_random_uuid(), sha256('witness'), sha256('sealed'), 0
      from app.users where email = 'app@timing.test'`
  const slugs = Array.from({ length: 50 }, (_, index) => `timing-${index}`)
  for (const slug of slugs) await createTenant(admin, slug)
  await createUser(admin, { email: 'member@timing.test', slugs })
  await admin`update app.users set password_hash = ${hash} where email = 'member@timing.test'`
})

describe('a failed login', () => {
  it('takes the same CPU time and duration for an unknown email, a disabled user, no password, an older or a costlier hash, many tenants, an authenticator app and a wrong password', async () => {
    const attempt = (email: string, password: string) => async () => {
      const usage = process.cpuUsage()
      const { status } = await service.request('POST /v1/auth/login', { body: { email, password } })
      expect(status).toBe(401)
      const { user, system } = process.cpuUsage(usage)
      // Without a hash, a response takes a few milliseconds.
      expect(user + system).toBeGreaterThan(15_000)
    }
    await expectSameCost({
      'a wrong password': attempt('known@timing.test', 'a wrong password'),
      'an unknown address': attempt('whoever@timing.test', 'a wrong password'),
      'a disabled user': attempt('disabled@timing.test', PASSWORD),
      'an older hash': attempt('older@timing.test', 'a wrong password'),
      'a costlier hash': attempt('costlier@timing.test', 'a wrong password'),
      'a user of fifty tenants': attempt('member@timing.test', 'a wrong password'),
      'a user with an app': attempt('app@timing.test', 'a wrong password'),
      'no password': attempt('no-password@timing.test', PASSWORD),
    })
  })
})
