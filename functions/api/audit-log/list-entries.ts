import * as v from 'valibot'
import { ROUTINE_ACTIONS } from '#shared/audit/routine.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { IncludedRoles } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { fault } from '#shared/schema/fault.ts'
import { AgePageQuery, page, pageOf, someOf } from '#shared/schema/page.ts'
import { sentTime } from '#shared/schema/timestamp.ts'
import { UUID } from '#shared/schema/uuid.ts'
import { ok } from '#shared/http/reply.ts'
import { Entry, findPosition, Position, searchEntries } from './queries.ts'

const Time = v.pipe(
  v.string(fault({ code: 'repeated' })),
  sentTime(fault({ code: 'wrong-format', format: 'a time by RFC 3339' })),
  v.metadata({ format: 'date-time' }),
)

const MOST_ACTORS = 20
const Actors = v.pipe(
  v.string(fault({ code: 'repeated' })),
  v.regex(
    new RegExp(`^(?:${UUID.source.slice(1, -1)}(?:,(?!$)|$)){1,${MOST_ACTORS}}$`, 'i'),
    fault({ code: 'wrong-format', format: `up to ${MOST_ACTORS} ids of users, separated by commas` }),
  ),
  v.description(`Up to ${MOST_ACTORS} ids of users, separated by commas: their entries alone.`),
  v.transform((text) => text.split(',')),
)

export const listEntries = endpoint({
  route: 'GET /v1/audit-log',
  access: { permission: 'member.manage' },
  summary: 'List the audit log of the tenant, newest first',
  query: v.object({
    ...AgePageQuery,
    actor: v.optional(Actors),
    action: v.optional(
      v.pipe(
        v.string(fault({ code: 'repeated' })),
        v.regex(/^[a-z_]+\.[a-z_]+$/, fault({ code: 'wrong-format', format: 'an action' })),
      ),
    ),
    from: v.optional(Time),
    to: v.optional(Time),
    leave_out: v.optional(
      v.pipe(
        v.picklist(['sign-ins'], fault({ code: 'not-a-choice', choices: 'sign-ins' })),
        v.description(
          `\`sign-ins\` leaves out ${ROUTINE_ACTIONS.map((action) => `\`${action}\``).join(' and ')}, unless \`action\` names it.`,
        ),
      ),
    ),
    include: v.optional(
      v.pipe(
        someOf(['position', 'roles']),
        v.description(
          '`position` adds where the page is among all entries that the filters find, `roles` every role that the tenant has.',
        ),
      ),
    ),
  }),
  reply: v.object({ ...pageOf(Entry).entries, position: v.optional(Position), roles: IncludedRoles }),
  async handle({
    query: { limit, cursor = null, actor = null, action = null, from = null, to = null, leave_out, include = [] },
    sql,
  }) {
    const search = { limit, before: cursor, actors: actor, action, routine: leave_out === undefined, from, to }
    const [rows, position, roles] = await Promise.all([
      searchEntries(sql, search),
      include.includes('position') ? findPosition(sql, search) : undefined,
      include.includes('roles') ? searchRoles(sql) : undefined,
    ])
    return ok({ ...page(rows, limit), position, roles })
  },
})
