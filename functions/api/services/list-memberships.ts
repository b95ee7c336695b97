import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { PERMISSIONS } from '#shared/identity/permissions.ts'
import { Id } from '#shared/schema/id.ts'
import { AgePageQuery, encodeCursor, page, pageOf } from '#shared/schema/page.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { membershipsOf } from './queries.ts'
import { wrongKey } from './wrong-key.ts'

const Membership = v.pipe(
  v.object({
    id: Id,
    tenant_id: Id,
    user_id: Id,
    role: v.pipe(v.string(), v.examples(['sales'])),
    permissions: v.pipe(
      v.array(v.picklist(PERMISSIONS)),
      v.examples([['catalog.read', 'deal.read']]),
      v.description('What the role permits while the membership is live.'),
    ),
    live: v.pipe(
      v.boolean(),
      v.description(
        'Whether it gives access now: it is not revoked, the user is not disabled, and the tenant is open.',
      ),
    ),
    accepted_at: Timestamp,
    revoked_at: v.nullable(Timestamp),
    created_at: Timestamp,
  }),
  v.title('Membership'),
)

export const listMemberships = endpoint({
  route: 'GET /v1/memberships',
  access: 'service',
  summary: 'The memberships of a tenant, or of all tenants, as they are now, oldest first',
  description:
    'For a service that keeps members and missed events, such as after a 410 of `GET /v1/changes`. It has members and former members, ' +
    'and nobody who was only invited. Store `changes_after` of the first page. Read all pages. Then read `GET /v1/changes` with that ' +
    'position as `after`: it has every event that the pages may lack. It takes a key with the scope `memberships`.',
  query: v.object({
    ...AgePageQuery,
    tenant_id: v.optional(v.pipe(Id, v.description('The tenant. Without it: all tenants.'))),
  }),
  reply: v.object({
    ...pageOf(Membership).entries,
    changes_after: v.pipe(
      v.string(),
      v.examples(['WyI3MTIiLCIwYTViOGY1Mi02YzFkLTRmN2UtOWIzYS0yZDRjNmU4ZjBhMWIiXQ']),
      v.description('The position in `GET /v1/changes` from before this page was read.'),
    ),
  }),
  problems: [403, 'rate-limited'],
  async handle({ query: { tenant_id: tenant = null, cursor = null, limit }, client, runtime, serviceKey, call }) {
    const asking = { name: serviceKey.name, key: serviceKey.hashes(runtime) }
    const found = await membershipsOf(call.repeatable, asking, { tenant, after: cursor, limit })
    if (found === 'wrong key') throw await wrongKey({ client, runtime })
    return ok({ ...page(found.rows, limit), changes_after: encodeCursor(found.position) })
  },
})
