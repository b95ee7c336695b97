import { expect, it } from 'vitest'
import { keyedHash } from '#shared/secret/secret.ts'
import type { TestMember } from '#tests/support/minted-session.ts'
import { inOneWindow } from '#tests/support/one-window.ts'
import { PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const PER_TENANT = 4
const service = useService({
  env: { INVITE_TENANT_LIMIT: String(PER_TENANT), INVITE_RECIPIENT_LIMIT: '2', INVITE_RESEND_SECONDS: '600' },
})
const attemptsOf = async (name: string, value: string): Promise<number> => {
  const [row] = await service.sql<{ attempts: number }[]>`
    select coalesce(sum(attempts), 0)::int as attempts from app.rate_limits where key = ${keyedHash(PEPPER, name, value)}`
  return row?.attempts ?? 0
}
const ask = (route: string, { token }: TestMember, body?: object) => service.request(route, { token, body })
const invite = (by: TestMember, email: string) => ask('POST /v1/members/invite', by, { email, role: 'viewer' })

it('charges an invitation that comes too soon after the last one to nobody, so that colleagues still invite', async () => {
  await inOneWindow(3600, async () => {
    const { id, slug, owner, admin } = await service.newTenant('owner', 'admin')
    const { body } = await invite(owner, `guest@${slug}.test`)
    for (let again = 0; again < 3 * PER_TENANT; again += 1) {
      expect((await invite(owner, `guest@${slug}.test`)).status).toBe(429)
      expect((await ask(`POST /v1/members/invitations/${body.id}/resend`, owner)).status).toBe(429)
    }
    expect(await attemptsOf('invite-tenant', id)).toBe(1)
    expect(await attemptsOf('invite-recipient', `guest@${slug}.test`)).toBe(1)
    for (let other = 1; other < PER_TENANT; other += 1)
      expect((await invite(admin, `other${other}@${slug}.test`)).status).toBe(200)
    expect((await invite(admin, `last@${slug}.test`)).status).toBe(429)
  })
})

it('charges an invitation over the limit of its tenant to no recipient, so that other tenants still reach them', async () => {
  await inOneWindow(86_400, async () => {
    const [{ slug, owner }, other] = [await service.newTenant('owner'), await service.newTenant('owner')]
    for (let index = 0; index < PER_TENANT; index += 1) await invite(owner, `person${index}@${slug}.test`)
    const wanted = `wanted@${slug}.test`
    for (let index = 0; index < 5; index += 1) expect((await invite(owner, wanted)).status).toBe(429)
    expect(await attemptsOf('invite-recipient', wanted)).toBe(0)
    await service.mail.deliver()
    expect((await invite(other.owner, wanted)).status).toBe(200)
    expect(await service.mail.deliver()).toBe(1)
  })
})

it('charges an invitation whose recipient got enough mails to its tenant as any other, so that the tenant learns nothing', async () => {
  await inOneWindow(86_400, async () => {
    const tenants = [
      await service.newTenant('owner'),
      await service.newTenant('owner'),
      await service.newTenant('owner'),
    ]
    const wanted = `wanted@${tenants[0]?.slug}.test`
    for (const { id, owner } of tenants) {
      expect((await invite(owner, wanted)).status).toBe(200)
      expect(await attemptsOf('invite-tenant', id)).toBe(1)
    }
    expect(await attemptsOf('invite-recipient', wanted)).toBe(2)
  })
})
