import { CreateKeyCommand } from '@aws-sdk/client-kms'
import { describe, expect, it } from 'vitest'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { mayBecome, type TenantStatus } from '#shared/identity/tenant.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { signedCommand } from '#tests/support/operator.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { ARN, useOperator } from './operator-commands.ts'

const { service, auditOf, command, invoke, run } = useOperator()

describe('create-tenant', () => {
  it('creates a tenant whose first owner is invited and accepts', async () => {
    const made = await command(
      'create-tenant',
      '--slug',
      'carol-caps',
      '--name',
      'Carol Caps',
      '--owner',
      'carol@caps.test',
    )
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toMatch(/slug: carol-caps\nstatus: trial/)
    expect(await service.mail.deliver()).toBe(1)
    const token = tokenIn(service.mail.to('carol@caps.test')[0])
    const accepted = await service.request('POST /v1/auth/invitations/accept', { body: { token, password: PASSWORD } })
    expect(accepted.body).toMatchObject({ tenant: { slug: 'carol-caps' }, role: 'owner', account_created: true })
    const session = await service.request('GET /v1/auth/session', {
      token: await service.signIn('carol@caps.test', 'carol-caps'),
    })
    expect(session.body).toMatchObject({ tenant: { status: 'trial' }, role: { code: 'owner' } })
    expect(await auditOf('carol-caps')).toEqual([
      'tenant.created',
      'invitation.created',
      'membership.accepted',
      'session.tenant_selected',
    ])
  })

  it('refuses a name of more than one line', async () => {
    for (const name of ['Line\nSet-Cookie: x', 'Acme \u202e Print']) {
      const made = { command: 'create-tenant', slug: 'lines', name, owner: 'x@x.test' }
      expect(await invoke(await signedCommand('operate', made))).toHaveProperty('invalid')
      const insert = service.sql`insert into app.tenants (slug, legal_name) values ('lines', ${name})`
      await expect(insert).rejects.toMatchObject({ constraint_name: 'one_line_check' })
    }
  })

  it('refuses a slug that exists in another case, and leaves nothing behind', async () => {
    await service.mail.deliver()
    const refused = await command(
      'create-tenant',
      '--slug',
      'ACME-print',
      '--name',
      'X',
      '--owner',
      'x@x.test',
      '--json',
    )
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).toEqual({ refused: 'The slug ACME-print is taken' })
    expect(await service.database.admin`select from app.tokens where email = 'x@x.test'`).toHaveLength(0)
    expect(await service.mail.deliver()).toBe(0)
  })

  it('resends an open invitation and invalidates the first link', async () => {
    await run({ command: 'create-tenant', slug: 'dora', name: 'Dora', owner: 'dora@dora.test' })
    const first = await service.mail.tokenFor('dora@dora.test')
    expect(await command('resend-invite', 'DORA', 'Dora@dora.test')).toMatchObject({ code: 0 })
    const second = await service.mail.tokenFor('dora@dora.test')
    const inspect = async (token: string) =>
      (await service.request('POST /v1/auth/invitations/inspect', { body: { token } })).status
    expect([await inspect(first), await inspect(second)]).toEqual([400, 200])
    expect(await command('resend-invite', 'dora', 'nobody@dora.test')).toMatchObject({ code: 1 })
  })
})

describe('set-status', () => {
  const STATUSES: readonly TenantStatus[] = ['trial', 'active', 'past_due', 'suspended', 'cancelled']
  const ALLOWED: Readonly<Record<TenantStatus, readonly TenantStatus[]>> = {
    trial: ['active', 'past_due', 'suspended', 'cancelled'],
    active: ['past_due', 'suspended', 'cancelled'],
    past_due: ['active', 'suspended', 'cancelled'],
    suspended: ['active', 'cancelled'],
    cancelled: [],
  }

  it.each(STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const)))(
    'allows a change from %s to %s exactly if the transition is listed',
    async (from, to) => {
      await service.database.admin`update app.tenants set status = ${from} where slug = 'bolt-apparel'`
      const outcome = await run({ command: 'set-status', slug: 'bolt-apparel', status: to })
      const [tenant] = await service.database.admin`select status from app.tenants where slug = 'bolt-apparel'`
      const allowed = ALLOWED[from].includes(to)
      expect('done' in outcome).toBe(allowed)
      expect(mayBecome(from, to)).toBe(allowed)
      expect(tenant?.['status']).toBe(allowed ? to : from)
    },
  )

  it('ends every session of a suspended tenant and no other, and the tenant can no longer be selected', async () => {
    await service.database.admin`update app.tenants set status = 'active' where slug = 'bolt-apparel'`
    const inside = await service.signIn('owner@bolt.test', 'bolt-apparel')
    const elsewhere = await service.signIn('both@shops.test', 'acme-print')
    const outcome = await command('set-status', 'bolt-apparel', 'suspended', '--json')
    expect(JSON.parse(outcome.stdout).done).toMatchObject({ status: 'suspended', sessions_revoked: 1 })
    const status = async (token: string) => (await service.request('GET /v1/auth/session', { token })).status
    expect([await status(inside), await status(elsewhere)]).toEqual([401, 200])
    await expect(service.signIn('owner@bolt.test', 'bolt-apparel')).rejects.toThrow('404')
  })
})

describe('rotate-data-key, rewrap and shred', () => {
  const shopWithSecret = async (): Promise<{ slug: string; token: string; id: string }> => {
    const { slug, admin } = await service.newTenant('admin')
    const [vendor] = vendorAccounts
    if (vendor === undefined) throw new Error('no vendor')
    const { code, account_number, secret } = vendor
    const { body } = await service.request('POST /v1/vendor-accounts', {
      token: admin.token,
      body: { vendor: code, account_number, secret },
    })
    return { slug, token: admin.token, id: body.id }
  }
  const done = async (...words: string[]) => {
    const { code, stdout } = await command(...words, '--json')
    expect(code).toBe(0)
    return JSON.parse(stdout).done
  }

  it('rotates, rewraps and shreds a tenant’s data keys, and reports how many', async () => {
    const { slug, token } = await shopWithSecret()
    expect(await done('rotate-data-key', slug)).toMatchObject({ slug, reencrypted: 1, destroyed: 1, unreadable: [] })
    const { KeyMetadata } = await service.vault.kms.send(new CreateKeyCommand({}))
    expect(await done('rewrap', slug, '--key', KeyMetadata?.Arn ?? '')).toMatchObject({ slug, rewrapped: 1 })
    const shredded = await command('shred', slug)
    expect(shredded).toMatchObject({ code: 0, stdout: expect.stringMatching(/secrets_erased: 1\nkeys_destroyed: 1/) })
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    expect(listed.body.data).toEqual([])
  })

  it.each([
    ['a tenant without a data key', ['rotate-data-key', 'carol-caps'], /has no data key/],
    ['an unknown tenant', ['rotate-data-key', 'nowhere'], /There is no tenant nowhere/],
    ['an unknown tenant', ['rewrap', 'nowhere', '--key', ARN], /There is no tenant nowhere/],
    ['an unknown tenant', ['shred', 'nowhere'], /There is no tenant nowhere/],
  ])('refuses %s with exit code 1: %j', async (_, words, why) => {
    expect(await command(...words)).toMatchObject({ code: 1, stderr: expect.stringMatching(why) })
  })

  it('exits 1 while KMS fails or refuses, and succeeds when run again', async () => {
    const { slug } = await shopWithSecret()
    expect(await command('rewrap', slug, '--key', ARN)).toMatchObject({ code: 1, stderr: expect.stringMatching(/KMS/) })
    await service.vault.faults.set({ part: 'kms', mode: 'refuse' })
    expect(await command('rotate-data-key', slug)).toMatchObject({ code: 1, stderr: expect.stringMatching(/KMS/) })
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
    expect(await done('rotate-data-key', slug)).toMatchObject({ reencrypted: 1, destroyed: 1, finished: true })
  })
})
