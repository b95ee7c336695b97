import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { IncludedRoles } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { page, pageOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { download, findPart, Part } from './download.ts'
import { FORMATS, MOST_BYTES, MOST_ENTRIES } from './file.ts'
import { LogQuery } from './log-query.ts'
import { Entry, findPosition, Position, searchEntries } from './queries.ts'

export const listEntries = endpoint({
  route: 'GET /v1/audit-log',
  access: { permission: 'member.manage', transactions: 'by handle' },
  summary: 'List the audit log of the tenant, newest first',
  description: `With \`format\`, the response is a file of the entries from \`cursor\` on, and an audit entry says who downloaded what. A file ends after
${MOST_ENTRIES} entries or ${MOST_BYTES / 1024 / 1024} MiB. If the range has more, the header \`link\` leads to the next file: \`</v1/audit-log?…&cursor=…>; rel="next"\`.
Cells of CSV that a spreadsheet would take for a formula begin with an apostrophe.`,
  query: LogQuery,
  reply: v.object({
    ...pageOf(Entry).entries,
    position: v.optional(Position),
    part: v.optional(Part),
    roles: IncludedRoles,
  }),
  files: Object.values(FORMATS),
  async handle(context) {
    const { query, sql } = context
    const { limit, cursor = null, actor = null, action = null, from = null, to = null, format, include = [] } = query
    const search = { limit, before: cursor, actors: actor, action, routine: query.leave_out === undefined, from, to }
    if (format !== undefined) return sql.write((tx) => download({ ...context, sql: tx }, search, format))
    return sql.read(async (tx) => {
      const [rows, position, part, roles] = await Promise.all([
        searchEntries(tx, search),
        include.includes('position') ? findPosition(tx, search) : undefined,
        include.includes('part') ? findPart(tx, search) : undefined,
        include.includes('roles') ? searchRoles(tx) : undefined,
      ])
      return ok({ ...page(rows, limit), position, part, roles })
    })
  },
})
