import { expect, it } from 'vitest'
import { keyIdOf } from '#shared/factor/factor-key.ts'
import { codeNow, finish, forgetStep, newFactorUser, openSignIn } from '#tests/support/factor.ts'
import { FACTOR_KEY } from '#tests/support/settings.ts'
import { useOperator } from './operator-commands.ts'

const { service, auditOf, command, factorKeys } = useOperator()

const NEXT_KEY = 'another factor key that only the tests use'

it('shows the second factor of a user without any secret', async () => {
  const user = await newFactorUser(service)
  const { code, stdout } = await command('show-second-factor', user.email, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout).done).toMatchObject({
    user_id: user.id,
    factors: [{ kind: 'totp', wrong_codes: 0, under_current_key: true }],
    recovery_codes_left: 10,
  })
  expect(stdout).not.toContain(user.secret)
  expect(JSON.parse((await command('show-second-factor', 'owner@acme.test', '--json')).stdout).done.factors).toEqual([])
  expect(await command('show-second-factor', 'nobody@nowhere.test')).toMatchObject({ code: 1 })
})

it('seals apps with the next key, after which the previous one may go, and lists those that no key opens', async () => {
  const [user, broken] = [await newFactorUser(service), await newFactorUser(service)]
  await service.sql`update app.factors set key_id = gen_random_uuid() where user_id = ${broken.id}`
  const [before] =
    await service.sql`select sealed_secret, last_step, witness_hash from app.factors where user_id = ${user.id}`
  Object.assign(factorKeys, { factorKey: NEXT_KEY, factorKeyPrevious: FACTOR_KEY })
  const { stdout } = await command('reseal-factors', '--json')
  const { done } = JSON.parse(stdout)
  expect(done).toMatchObject({ finished: true, unopened: [broken.id] })
  expect(done.resealed).toBeGreaterThan(0)
  const [after] =
    await service.sql`select key_id, sealed_secret, last_step, witness_hash from app.factors where user_id = ${user.id}`
  expect(after).toMatchObject({ key_id: keyIdOf(NEXT_KEY), last_step: before?.['last_step'] })
  // With the next key alone it opens, and the way back opens it with the first again.
  Object.assign(factorKeys, { factorKey: FACTOR_KEY, factorKeyPrevious: NEXT_KEY })
  expect(JSON.parse((await command('reseal-factors', '--json')).stdout).done.unopened).toEqual([broken.id])
  await forgetStep(service, user.id)
  const finished = await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
  expect(finished.status).toBe(200)
})

it('ends the recovery codes of before a time, mails each user and leaves an entry; later codes work', async () => {
  const { slug } = await service.newTenant('owner')
  const [user, later] = [await newFactorUser(service, [slug]), await newFactorUser(service, [slug])]
  await service.sql`update app.tokens set created_at = '2026-01-01' where user_id = ${user.id} and purpose = 'recovery_code'`
  expect(await command('expire-recovery-codes', '--created-before', 'yesterday')).toMatchObject({ code: 2 })
  const done = await command('expire-recovery-codes', '--created-before', '2026-02-01T00:00:00Z', '--json')
  expect(JSON.parse(done.stdout).done).toMatchObject({ users: 1, finished: true })
  const use = async ({ email, recoveryCodes: [code] }: typeof user) =>
    (await finish(service, await openSignIn(service, email), { recovery_code: code })).status
  expect([await use(later), await use(user)]).toEqual([200, 422])
  await service.mail.deliver()
  expect(service.mail.to(user.email).map(({ subject }) => subject)).toContain('Your recovery codes no longer work')
  expect((await auditOf(slug)).filter((action) => action === 'user.recovery_codes_voided')).toHaveLength(1)
})
