import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { isPublished } from '#shared/audit/actions.ts'
import { eventOf, type EventRow } from '#shared/audit/event.ts'
import { eventSchemas } from '#shared/audit/event-schema.ts'
import { Authenticator } from '#tests/support/authenticator.ts'
import { newPasskeyOptions, ORIGIN } from '#tests/support/passkey.ts'
import { mintSession, type TestTenant } from '#tests/support/minted-session.ts'
import { type Route, routes, takesId, withId } from '#tests/support/routes.ts'
import { codeNow, mailedSetupCode, newDraft, newFactorUser, newUser } from '#tests/support/factor.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { PASSWORD, type RequestOptions } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const schemas = eventSchemas()
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)

interface Call extends RequestOptions {
  readonly id?: string
}

/**
 * The requests of routes that need more than an owner's session, the sample body and a resource of the tenant. Other
 * write routes need no line here.
 */
const PREPARED: Readonly<Record<string, (tenant: TestTenant<'owner' | 'admin'>) => Promise<Call>>> = {
  'DELETE /v1/auth/sessions': async ({ slug, owner }) => {
    await mintSession(service.sql, { email: `owner@${slug}.test`, slug })
    return { token: owner.token }
  },
  'DELETE /v1/auth/sessions/{id}': async ({ slug, owner }) => {
    const { id } = await mintSession(service.sql, { email: `owner@${slug}.test`, slug })
    return { token: owner.token, id }
  },
  'DELETE /v1/members/{id}/sessions': async ({ admin }) => ({ id: admin.membershipId }),
  'POST /v1/auth/tenants/{id}/select': async ({ slug, id }) => {
    const { token } = await mintSession(service.sql, { email: `owner@${slug}.test` })
    return { token, id }
  },
  'POST /v1/auth/password/change': async () => {
    const { token } = await mintSession(service.sql, { email: 'viewer@acme.test', slug: 'acme-print' })
    return { token, body: { current_password: PASSWORD, new_password: 'a passphrase of the audit' } }
  },
  'POST /v1/auth/step-up': async () => {
    const { token } = await mintSession(service.sql, { email: 'sales@acme.test', slug: 'acme-print' })
    return { token, body: { password: PASSWORD } }
  },
  'POST /v1/auth/factors/totp': async ({ slug }) => {
    const user = await newUser(service, [slug])
    const { secret } = (await newDraft(service, user.token)).body
    return { token: user.token, body: { code: codeNow(secret), setup_code: await mailedSetupCode(service, user) } }
  },
  'POST /v1/auth/factors/passkey': async ({ slug }) => {
    const { token } = await newFactorUser(service, [slug])
    const credential = new Authenticator({ origin: ORIGIN }).create(await newPasskeyOptions(service, token))
    return { token, body: { name: 'Laptop', credential } }
  },
  'POST /v1/auth/factors/recovery-codes': async ({ slug }) => {
    const { token } = await newFactorUser(service, [slug])
    await newDraft(service, token, { renew_codes: true })
    return { token }
  },
  'DELETE /v1/auth/factors/{id}': async ({ slug }) => {
    const { token, factorId } = await newFactorUser(service, [slug])
    return { token, id: factorId }
  },
  'POST /v1/members/{id}/factor-reset': async ({ slug, owner }) => ({
    token: owner.token,
    id: await membershipOf(await newFactorUser(service, [slug])),
  }),
  'POST /v1/auth/factor-resets/cancel': async ({ slug, owner: { token } }) => {
    const user = await newFactorUser(service, [slug])
    await service.request(`POST /v1/members/${await membershipOf(user)}/factor-reset`, { token })
    return { body: { token: await service.mail.tokenFor(user.email) } }
  },
  'POST /v1/catalog/sync-runs': async ({ slug }) => {
    const { id } = await makeResource(service, '/v1/vendor-accounts/{id}', slug)
    return { body: { vendor_account_id: id } }
  },
  'POST /v1/auth/password/reset': async ({ slug }) => {
    const email = `owner@${slug}.test`
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    return { body: { token: await service.mail.tokenFor(email), password: 'a passphrase of the audit' } }
  },
  'POST /v1/auth/invitations/accept': async ({ slug, owner }) => {
    const email = `invited@${slug}.test`
    await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'viewer' } })
    const token = await service.mail.tokenFor(email)
    return { body: { token, full_name: 'An Invited Person', password: 'a passphrase of the audit' } }
  },
}

async function membershipOf({ id }: { id: string }): Promise<string> {
  const [row] = await service.sql`select id from app.memberships where user_id = ${id}`
  return row?.['id']
}

async function succeed(route: Route): Promise<string> {
  const tenant = await service.newTenant('owner', 'admin')
  const { path, method } = route.endpoint
  const { id, ...prepared }: Call = (await PREPARED[route.name]?.(tenant)) ?? {}
  const ids = id === undefined && takesId(path) ? await makeResource(service, path, tenant.slug) : { id: id ?? '' }
  const answer = await service.request(`${method} ${withId(path, ids)}`, {
    token: tenant.owner.token,
    body: sampleBody(route, ids),
    ...prepared,
  })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.headers.get('x-request-id') ?? ''
}

describe('a write', () => {
  const writes = routes.filter(({ endpoint }) => endpoint.method !== 'GET')

  it.each(writes.filter(({ endpoint }) => endpoint.audit === null))(
    '$name leaves an audit entry with the id of its request, and the event of it that its schema describes',
    async (route) => {
      const requestId = await succeed(route)
      const entries = await service.sql`select action from app.audit_log where request_id = ${requestId}`
      expect(entries, 'call recordAudit, or declare audit: { none: reason }').not.toEqual([])
      const events = await service.sql<EventRow[]>`
        select e.* from app.events e join app.audit_log using (tenant_id, id) where request_id = ${requestId}`
      expect(events.map(({ action }) => action).toSorted()).toEqual(
        entries
          .map(({ action }) => action)
          .filter(isPublished)
          .toSorted(),
      )
      for (const event of events) {
        const matches = ajv.validate(schemas[event.action] ?? false, JSON.parse(JSON.stringify(eventOf(event))))
        expect(ajv.errorsText(matches ? null : ajv.errors), event.action).toBe('No errors')
      }
    },
  )

  it.each(writes.filter(({ endpoint }) => endpoint.audit !== null))(
    '$name says why it leaves no audit entry',
    ({ endpoint }) => expect(endpoint.audit?.none).toMatch(/\w+ \w+/),
  )
})
