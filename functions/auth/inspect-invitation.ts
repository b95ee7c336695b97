import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { RoleName } from '#shared/role/role.ts'
import { Tenant } from '#shared/tenant/tenant.ts'
import { SentToken } from '#shared/token/token.ts'
import { Address } from '#shared/schema/email.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findInvitationDetails } from './invitation-queries.ts'
import { findInvitation, findUserContact } from './token-queries.ts'

const InvitedTenant = v.object({ slug: Tenant.entries.slug, legal_name: Tenant.entries.legal_name })

export const inspectInvitation = endpoint({
  route: 'POST /v1/auth/invitations/inspect',
  access: 'anyone',
  summary: 'Read an invitation without consuming it',
  audit: { none: 'it changes nothing' },
  body: v.object({ token: SentToken }),
  reply: v.object({ tenant: InvitedTenant, email: Address, role: RoleName, account_exists: v.boolean() }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    const token = await findInvitation(sql, hashSentToken(runtime, body.token))
    const { tenant_id: tenantId = null, role_id: roleId = null, email = null } = token ?? {}
    if (token === null || tenantId === null || roleId === null || email === null) throw tokenInvalid('no invitation')
    const details = await token.proof.read(runtime.database, (tx) => findInvitationDetails(tx, tenantId, roleId))
    if (details === null || !details.open) throw tokenInvalid('the tenant is not open')
    const { slug, legal_name, role_code } = details
    const user = await findUserContact(sql, { email })
    if (user !== null && user.disabled_at !== null && !token.consumed) throw tokenInvalid('the user is disabled')
    return ok({ tenant: { slug, legal_name }, email, role: role_code, account_exists: user !== null })
  },
})
