import * as v from 'valibot'
import { recordAudit, requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { PersonName } from '#shared/schema/person-name.ts'
import { invalid } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { SentNewPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { RoleName } from '#shared/role/role.ts'
import { Tenant } from '#shared/tenant/tenant.ts'
import { SentToken } from '#shared/token/token.ts'
import { Address } from '#shared/schema/email.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import {
  acceptMembership,
  createUser,
  findInvitationDetails,
  lockEnabledUser,
  lockInviter,
  lockOpenTenant,
} from './invitation-queries.ts'
import { consumeToken, findInvitation, findUserContact, findToken } from './token-queries.ts'

const { id, slug, legal_name } = Tenant.entries
const InvitedTenant = v.object({ id, slug, legal_name })

export const acceptInvitation = endpoint({
  route: 'POST /v1/auth/invitations/accept',
  access: 'anyone',
  summary: 'Accept an invitation, with a new account or an existing one',
  needs: ['invoke:deliver-mail'],
  body: v.object({ token: SentToken, full_name: v.nullish(PersonName), password: v.nullish(SentNewPassword) }),
  reply: v.object({ tenant: InvitedTenant, email: Address, role: RoleName, account_created: v.boolean() }),
  problems: ['token-invalid', 'password-rejected'],
  limits: tokenLimits,
  async handle(context) {
    const { body, sql, runtime } = context
    const { config, database } = runtime
    const hashes = hashSentToken(runtime, body.token)
    const token = await findInvitation(sql, hashes)
    const {
      tenant_id: tenantId = null,
      role_id: roleId = null,
      email = null,
      invited_by: invitedBy = null,
    } = token ?? {}
    if (token === null || tenantId === null || roleId === null || email === null) {
      throw tokenInvalid('no invitation')
    }
    const details = await token.proof.read(database, (tx) => findInvitationDetails(tx, tenantId, roleId))
    if (details === null || !details.open) throw tokenInvalid('the tenant is not open')
    const { slug, legal_name, role_code } = details
    const accepted = { tenant: { id: tenantId, slug, legal_name }, email, role: role_code }
    if (token.consumed) return ok({ ...accepted, account_created: false })

    const user = await findUserContact(sql, { email })
    if (user !== null && user.disabled_at !== null) throw tokenInvalid('the user is disabled')
    const fullName = body.full_name ?? null
    const newHash = user === null ? await hashOf(body.password ?? null, [email, fullName, slug, legal_name]) : null
    const created = await token.proof.write(database, async (tx) => {
      if (!(await lockOpenTenant(tx, tenantId))) throw tokenInvalid('the tenant is not open')
      // Read again under the lock: a concurrent request may have accepted, cancelled or changed the invitation.
      const locked = await findToken(tx, hashes, 'invite')
      if (locked?.consumed === true) return false
      if (locked === null || locked.role_id !== roleId || locked.invited_by !== invitedBy)
        throw tokenInvalid('the invitation changed')
      if (!(await lockInviter(tx, { roleId, invitedBy }))) throw tokenInvalid('the inviter may no longer invite')
      if (!(await consumeToken(tx, hashes, 'invite'))) throw tokenInvalid('the invitation expired')
      const newId = newHash === null ? null : await createUser(tx, { email, fullName, passwordHash: newHash })
      // A concurrent request may have created the user, and an operator may have disabled them.
      const userId = newId ?? (await lockEnabledUser(tx, email))
      if (userId === null) throw tokenInvalid('the user is disabled')
      const membershipId = await acceptMembership(tx, { userId, roleId, invitedBy })
      await recordAudit(
        { sql: tx, tenantId, invitedId: userId, ...requestSource(context) },
        { action: 'membership.accepted', targetId: membershipId, after: { role: role_code } },
      )
      await enqueue(tx, 'mail', { template: 'membership-added', user_id: userId })
      return newId !== null
    })
    return ok({ ...accepted, account_created: created })

    async function hashOf(password: string | null, known: (string | null)[]): Promise<string> {
      if (password === null) throw invalid([{ pointer: '#/password', detail: 'is required' }])
      return hashNewPassword({ sent: password, pointer: '#/password', known }, config)
    }
  },
})
