import { describe, expect, it, vi } from 'vitest'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useOperator } from './operator-commands.ts'

const { service, auditOf, command, run } = useOperator()

describe('disable-user and enable-user', () => {
  it('voids the reset links of a disabled user for good', async () => {
    const email = 'designer@bolt.test'
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    const token = await service.mail.tokenFor(email)
    for (const name of ['disable-user', 'enable-user']) expect(await command(name, email)).toMatchObject({ code: 0 })
    const body = { token, password: 'a passphrase of the reset' }
    expect((await service.request('POST /v1/auth/password/reset', { body })).status).toBe(400)
  })

  it('ends every session of a disabled user and refuses sign-in until the user is enabled', async () => {
    const token = await service.signIn('sales@acme.test', 'acme-print')
    expect(await command('disable-user', 'SALES@acme.test')).toMatchObject({ code: 0 })
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
    await expect(service.signIn('sales@acme.test')).rejects.toThrow('401')
    expect(await command('enable-user', 'sales@acme.test')).toMatchObject({ code: 0 })
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
    await service.signIn('sales@acme.test', 'acme-print')
    expect((await auditOf('acme-print')).filter((action) => action.startsWith('user.'))).toEqual([
      'user.disabled',
      'user.enabled',
    ])
    expect(await command('disable-user', 'nobody@nowhere.test')).toMatchObject({ code: 1 })
  })

  it('records nothing in a tenant that only invited the user', async () => {
    const { slug, owner } = await service.newTenant('owner')
    const body = { email: 'viewer@acme.test', role: 'viewer' }
    await service.request('POST /v1/members/invite', { token: owner.token, body })
    for (const name of ['disable-user', 'enable-user'])
      expect(await command(name, body.email)).toMatchObject({ code: 0 })
    expect(await auditOf(slug)).toEqual(['invitation.created'])
  })
})

describe('the last owner who can sign in', () => {
  const owners = async (slug: string) =>
    service.database.admin`
      select u.email from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
       where t.slug = ${slug} and m.role_id = 1 and m.accepted_at is not null and m.revoked_at is null and u.disabled_at is null`

  /** Makes a tenant whose only owners are those asked for: its founder is disabled. */
  const newTenant = async (second: 'admin' | 'owner') => {
    const { slug, id, owner, admin } = await service.newTenant('owner', 'admin')
    await service.database.admin`update app.users set disabled_at = now() where email = ${`founder@${slug}.test`}`
    if (second === 'owner')
      await service.database.admin`update app.memberships set role_id = 1 where id = ${admin.membershipId}`
    return { slug, id, owner, other: admin }
  }

  it('is disabled only with --force, and the refusal names every tenant that would lose them', async () => {
    const { slug, owner } = await newTenant('admin')
    const email = `owner@${slug}.test`
    const refused = await command('disable-user', email)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(slug) })
    expect((await service.request('GET /v1/auth/session', { token: owner.token })).status).toBe(200)
    const forced = await command('disable-user', email, '--force', '--json')
    expect(JSON.parse(forced.stdout).done).toMatchObject({ disabled: true, tenants_without_owner: [slug] })
  })

  it.each(['a stranger', 'a member'])('is replaced by invite-owner: %s becomes the owner', async (who) => {
    const { slug, other } = await newTenant('admin')
    const email = who === 'a member' ? `admin@${slug}.test` : `new@${slug}.test`
    expect(await command('invite-owner', slug, email)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/can sign in/),
    })
    await command('disable-user', `owner@${slug}.test`, '--force')
    // An admin's own invitation must not keep the owner's role from the address.
    if (who !== 'a member')
      await service.request('POST /v1/members/invite', { token: other.token, body: { email, role: 'viewer' } })
    expect(await command('invite-owner', slug, email)).toMatchObject({ code: 0 })
    const token = await service.mail.tokenFor(email)
    const accepted = await service.request('POST /v1/auth/invitations/accept', { body: { token, password: PASSWORD } })
    expect(accepted.body).toMatchObject({ tenant: { slug }, role: 'owner' })
    expect(await owners(slug)).toEqual([{ email }])
    expect(await auditOf(slug)).toContain('invitation.created')
  })

  const lockIsAwaited = () =>
    vi.waitUntil(async () => {
      const waiting = await service.database.admin`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
  it('is not disabled while another owner gives up their role', async () => {
    const { slug, other } = await newTenant('owner')
    const disabled = await service.database.admin.begin(async (sql) => {
      await sql`update app.memberships set role_id = 2 where id = ${other.membershipId}`
      const disabling = run({ command: 'disable-user', email: `owner@${slug}.test` })
      await lockIsAwaited()
      return { disabling }
    })
    expect(await disabled.disabling).toMatchObject({ refused: expect.stringContaining(slug) })
    expect(await owners(slug)).toHaveLength(1)
  })

  it('keeps their role while another owner is disabled', async () => {
    const { slug, id, owner, other } = await newTenant('owner')
    const demoted = await service.database.admin.begin(async (sql) => {
      await sql`select from app.tenants where id = ${id} for no key update`
      await sql`update app.users set disabled_at = now() where id = ${owner.userId}`
      const route = `PATCH /v1/members/${other.membershipId}`
      const demoting = service.request(route, { token: other.token, body: { role: 'viewer' } })
      await lockIsAwaited()
      return { demoting }
    })
    expectProblem(await demoted.demoting, 'last-owner')
    expect(await owners(slug)).toHaveLength(1)
  })
})
