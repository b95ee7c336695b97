import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { fault } from '#shared/schema/fault.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { sentTime } from '#shared/schema/timestamp.ts'
import { ok } from '#shared/http/reply.ts'
import { Entry, NamedMember, nameMembers, searchEntries } from './queries.ts'

const Time = v.pipe(
  v.string(fault({ code: 'repeated' })),
  sentTime(fault({ code: 'wrong-format', format: 'a time by RFC 3339' })),
  v.metadata({ format: 'date-time' }),
)

const MOST_MEMBERS = 100

export const listEntries = endpoint({
  route: 'GET /v1/audit-log',
  access: { permission: 'member.manage' },
  summary: 'List the audit log of the tenant, newest first',
  query: v.object({
    ...AgePageQuery,
    actor: v.optional(
      v.pipe(
        v.string(fault({ code: 'repeated' })),
        v.uuid(fault({ code: 'wrong-format', format: 'the id of a user' })),
      ),
    ),
    action: v.optional(
      v.pipe(
        v.string(fault({ code: 'repeated' })),
        v.regex(/^[a-z_]+\.[a-z_]+$/, fault({ code: 'wrong-format', format: 'an action' })),
      ),
    ),
    from: v.optional(Time),
    to: v.optional(Time),
    include: v.optional(
      v.pipe(
        v.picklist(['members'], fault({ code: 'not-a-choice', choices: 'members' })),
        v.description(`\`members\` adds the oldest ${MOST_MEMBERS} members of the tenant, whose ids the entries name.`),
      ),
    ),
  }),
  reply: v.object({ ...pageOf(Entry).entries, members: v.optional(v.array(NamedMember)) }),
  async handle({
    query: { limit, cursor = null, actor = null, action = null, from = null, to = null, include },
    principal,
    sql,
  }) {
    const [rows, members] = await Promise.all([
      searchEntries(sql, { limit, before: cursor, actor, action, from, to }),
      include === 'members' ? nameMembers(sql, principal.ticket, MOST_MEMBERS) : undefined,
    ])
    return ok({ ...page(rows, limit), members })
  },
})
