import { expect, it } from 'vitest'
import { keyIdOf } from '#shared/factor/factor-key.ts'
import { codeNow, finish, forgetStep, newFactorUser, openSignIn } from '#tests/support/factor.ts'
import { newPasskeyUser, signInBy } from '#tests/support/passkey.ts'
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

it('seals factors with the next key, after which the previous one may go, and lists those that no key opens', async () => {
  const [user, broken] = [await newFactorUser(service), await newFactorUser(service)]
  const holder = await newPasskeyUser(service)
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
  const ofPasskey = () => service.sql`select key_id, witness_hash from app.factors where id = ${holder.passkeyId}`
  const [moved] = await ofPasskey()
  expect(moved).toMatchObject({ key_id: keyIdOf(NEXT_KEY) })
  // With the next key alone it opens, and the way back opens it with the first again.
  Object.assign(factorKeys, { factorKey: FACTOR_KEY, factorKeyPrevious: NEXT_KEY })
  expect(JSON.parse((await command('reseal-factors', '--json')).stdout).done.unopened).toEqual([broken.id])
  expect(await ofPasskey()).not.toEqual([moved])
  await forgetStep(service, user.id)
  const finished = await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
  expect(finished.status).toBe(200)
  expect((await signInBy(service, holder.authenticator)).status).toBe(200)
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

it('requests the reset of a second factor, shows it and cancels it, with an entry in each tenant of the user', async () => {
  const user = await newFactorUser(service, ['acme-print', 'bolt-apparel'])
  const requested = await command('reset-second-factor', user.email, '--json')
  expect(requested.code).toBe(0)
  const { user_id: id, effective_at: at } = JSON.parse(requested.stdout).done
  expect(id).toBe(user.id)
  expect(Math.abs(Date.parse(at) - Date.now() - 24 * 3_600_000)).toBeLessThan(120_000)
  // Again: the same time.
  expect(JSON.parse((await command('reset-second-factor', user.email, '--json')).stdout).done.effective_at).toBe(at)
  const shown = async () => JSON.parse((await command('show-second-factor', user.email, '--json')).stdout).done.reset
  expect(await shown()).toEqual({ requested_at: expect.any(String), effective_at: at })
  const cancelled = await command('cancel-second-factor-reset', user.email, '--json')
  expect(JSON.parse(cancelled.stdout).done).toEqual({ user_id: user.id, cancelled: true })
  expect(await shown()).toBeNull()
  expect(JSON.parse((await command('cancel-second-factor-reset', user.email, '--json')).stdout).done.cancelled).toBe(
    false,
  )
  for (const action of ['requested', 'cancelled']) {
    const entries = await service.sql`
      select tenant_id, actor_user_id, after ->> 'reason' as reason from app.audit_log
       where action = ${`user.second_factor_reset_${action}`} and target_id = ${user.id}`
    expect(new Set(entries.map(({ tenant_id }) => tenant_id)).size).toBe(2)
    for (const { actor_user_id, reason } of entries) expect([actor_user_id, typeof reason]).toEqual([null, 'string'])
  }
})

it('confirms the reset that waits for an operator: it gets a time, a job and a mail of its own', async () => {
  const user = await newFactorUser(service)
  await service.sql`
    insert into app.factor_resets (user_id, requested_by) select ${user.id}, id from app.users where email = 'owner@acme.test'`
  const { effective_at: at } = JSON.parse((await command('reset-second-factor', user.email, '--json')).stdout).done
  expect(Date.parse(at)).toBeGreaterThan(Date.now())
  const [reset] = await service.sql`select id, requested_by from app.factor_resets where user_id = ${user.id}`
  expect(reset?.['requested_by']).toBeNull()
  const jobs = await service.sql`
    select kind, run_at from app.jobs where payload ->> 'reset_id' = ${reset?.['id']} order by kind`
  expect(jobs.map(({ kind }) => kind)).toEqual(['factor-reset', 'mail'])
  expect(jobs[0]?.['run_at']).toEqual(new Date(at))
})

it('refuses the reset of a user without a second factor, and of nobody', async () => {
  expect(await command('reset-second-factor', 'viewer@acme.test')).toMatchObject({ code: 1 })
  expect(await command('reset-second-factor', 'nobody@nowhere.test')).toMatchObject({ code: 1 })
  expect(await command('cancel-second-factor-reset', 'nobody@nowhere.test')).toMatchObject({ code: 1 })
})
