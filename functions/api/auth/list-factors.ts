import * as v from 'valibot'
import { unauthorized } from '#shared/base/problem.ts'
import { relyingParty } from '#shared/base/relying-party.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { ownFactors, ownReset } from './factor-queries.ts'
import { Factor } from './factor.ts'
import { listTenants } from './session-queries.ts'

const Count = v.pipe(v.number(), v.integer(), v.examples([10]))
const Name = v.pipe(v.string(), v.examples(['acme']))

export const listFactors = endpoint({
  route: 'GET /v1/auth/factors',
  access: 'session',
  summary: 'List the second factors of the user, and what is left of the recovery codes',
  description:
    '`recovery_codes` is null for a user without a factor. `required_by`: the tenants that ask for a second factor. `reset`: the open request to remove the factors. ' +
    'Without `effective_at`, an operator must confirm it.',
  reply: v.object({
    data: v.array(Factor),
    recovery_codes: v.nullable(v.object({ left: Count, created_at: v.nullable(Timestamp) })),
    required_by: v.array(
      v.object({
        tenant: v.object({ id: Id, slug: Name, legal_name: Name, timezone: Tenant.entries.timezone }),
        from: Timestamp,
      }),
    ),
    reset: v.nullable(v.object({ requested_at: Timestamp, effective_at: v.nullable(Timestamp) })),
  }),
  async handle({ call, principal, runtime }) {
    const rows = await ownFactors(call, principal.ticket, relyingParty(runtime.config)?.rpId)
    const [first] = rows
    if (first === undefined) throw unauthorized('the session ended during the request', true)
    const data = rows.flatMap(({ codes_left: _left, codes_created_at: _at, ...row }) => (row.id === null ? [] : [row]))
    const codes = { left: first.codes_left, created_at: first.codes_created_at }
    const asking = (await listTenants(call, principal.ticket)).flatMap(
      ({ tenant_id: id, slug, legal_name, timezone, second_factor_from: from }) =>
        from === null ? [] : [{ tenant: { id, slug, legal_name, timezone }, from }],
    )
    const reset = await ownReset(call, principal.ticket)
    return ok({ data, recovery_codes: data.length === 0 ? null : codes, required_by: asking, reset })
  },
})
