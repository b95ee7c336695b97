import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { encodeCursor, PageQuery, page, pageOf, SearchText, someOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { fault } from '#shared/schema/fault.ts'
import { Member } from '#shared/identity/member.ts'
import { IncludedRoles } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { type Counts, type MemberStatus, searchMembers } from './member-queries.ts'

const STATUSES: readonly MemberStatus[] = ['active', 'invited', 'revoked']

const Count = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.examples([514])))

const EITHER = fault({ code: 'not-a-choice', choices: 'true or false' })

export const listMembers = endpoint({
  route: 'GET /v1/members',
  // One call of a function, which checks the ticket: a transaction around it would cost as much as the list.
  access: { permission: 'member.manage', transactions: 'by call' },
  summary: 'List the members by name, invited persons by their address',
  description:
    '`q` finds who has each of its words in the name or the address, in any order. Case, accents and punctuation do not count. ' +
    '`second_factor` finds the members who have one, or who have none. ' +
    '`roles` in `include` adds every role that the tenant has, as GET /v1/roles lists them. With `total` in it the reply says how many there are (`total`), how many precede the page (`preceding`), and where the previous page begins.',
  query: v.object({
    ...PageQuery,
    status: v.optional(someOf(STATUSES), 'active,invited'),
    role: v.optional(RoleCode),
    q: v.optional(SearchText, ''),
    second_factor: v.optional(v.picklist(['true', 'false'], EITHER)),
    include: v.optional(someOf(['total', 'roles'])),
  }),
  reply: v.object({
    ...pageOf(Member).entries,
    total: Count,
    preceding: Count,
    roles: IncludedRoles,
    previous_cursor: v.optional(v.nullable(v.pipe(v.string(), v.examples(['WyJhbm4iLCIwYTViOGY1MiJd'])))),
  }),
  async handle({ query, principal, call, sql }) {
    const { status, role = null, q, cursor = null, limit, include = [], second_factor: has } = query
    const counted = include.includes('total')
    const secondFactor = has === undefined ? null : has === 'true'
    const search = { statuses: status, role, q: q.trim() || null, secondFactor, after: cursor, limit, counted }
    const [{ rows, counts }, roles] = await Promise.all([
      searchMembers(call, principal.ticket, search),
      include.includes('roles') ? sql.read((read) => searchRoles(read)) : undefined,
    ])
    return ok({ ...page(rows, limit), ...(counted ? shown(counts) : {}), roles })
  },
})

const shown = ({ total, preceding, previous }: Counts) => ({
  total,
  preceding,
  previous_cursor: previous === null ? null : encodeCursor(previous),
})
