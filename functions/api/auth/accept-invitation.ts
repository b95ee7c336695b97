import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { PersonName } from '#shared/schema/name.ts'
import { invalid } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { SentNewPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { Language, LANGUAGES } from '#shared/schema/language.ts'
import { SentToken } from '#shared/identity/token.ts'
import { Address } from '#shared/schema/email.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findInvitation, markAccepted } from './invitation-queries.ts'

const { id, slug, legal_name } = Tenant.entries
const InvitedTenant = v.object({ id, slug, legal_name })

export const acceptInvitation = endpoint({
  route: 'POST /v1/auth/invitations/accept',
  access: 'anyone',
  summary: 'Accept an invitation, with a new account or an existing one',
  needs: ['invoke:deliver-mail'],
  body: v.object({
    token: SentToken,
    full_name: v.nullish(PersonName),
    password: v.nullish(SentNewPassword),
    language: v.nullish(Language, LANGUAGES[0]),
  }),
  reply: v.object({ tenant: InvitedTenant, email: Address, role: RoleCode, account_created: v.boolean() }),
  problems: ['token-invalid', 'password-rejected'],
  limits: tokenLimits,
  async handle(context) {
    const { body, sql, runtime } = context
    const hashes = hashSentToken(runtime, body.token)
    const invitation = await findInvitation(sql, hashes)
    if (invitation === null) throw tokenInvalid('no invitation that can be accepted')
    const { tenant_id: id, slug, legal_name, email, role_code: role, consumed, account_exists: exists } = invitation
    const reply = { tenant: { id, slug, legal_name }, email, role }
    if (consumed) return ok({ ...reply, account_created: false })

    const fullName = body.full_name ?? null
    const known = [email, fullName, slug, legal_name]
    const passwordHash = exists ? null : await hashOf(body.password ?? null)
    const accepted = await sql.write(async (tx) => {
      const outcome = await markAccepted(tx, context, { hashes, fullName, passwordHash, language: body.language })
      if (outcome === null) throw tokenInvalid('the invitation cannot be accepted any more')
      if (outcome !== 'accepted')
        for (const template of ['membership-added', 'invitation-accepted'] as const)
          await enqueue(tx, 'mail', { template, user_id: outcome.userId })
      return outcome
    })
    return ok({ ...reply, account_created: accepted !== 'accepted' && accepted.created })

    async function hashOf(password: string | null): Promise<string> {
      if (password === null) throw invalid([{ pointer: '#/password', code: 'required' }])
      return hashNewPassword({ sent: password, pointer: '#/password', known }, runtime.config)
    }
  },
})
