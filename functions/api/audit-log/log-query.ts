import * as v from 'valibot'
import { ROUTINE_ACTIONS } from '#shared/audit/routine.ts'
import { fault } from '#shared/schema/fault.ts'
import { AgePageQuery, someOf } from '#shared/schema/page.ts'
import { sentTime } from '#shared/schema/timestamp.ts'
import { UUID } from '#shared/schema/uuid.ts'

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
    fault({ code: 'wrong-format', format: `up to ${MOST_ACTORS} ids of users or API keys, separated by commas` }),
  ),
  v.description(`Up to ${MOST_ACTORS} ids of users or API keys, separated by commas: their entries alone.`),
  v.transform((text) => text.split(',')),
)

/** The filters of the audit log, and what a response brings along. */
export const LogQuery = v.object({
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
  format: v.optional(
    v.pipe(
      v.picklist(['csv', 'ndjson'], fault({ code: 'not-a-choice', choices: 'csv or ndjson' })),
      v.description('Returns a file instead of a page. `limit` and `include` do not apply.'),
    ),
  ),
  include: v.optional(
    v.pipe(
      someOf(['position', 'part', 'roles']),
      v.description(
        '`position` adds where the page is among all entries that the filters find, `part` what a file from `cursor` on contains, `roles` every role that the tenant has.',
      ),
    ),
  ),
})
