import { page, type ShopUi } from '#web/http/page.ts'
import { FormRefused } from '#web/http/refusal.ts'
import type { View } from '#web/http/reply.ts'
import { actionsIn, errorsIn, find, type Found, MOST_PEOPLE, Query } from '#web/pages/audit-log/filter.ts'

export const listEntries = page({
  route: 'GET /s/{slug}/audit-log',
  access: { permission: 'member.manage' },
  navigation: 'auditLog',
  query: Query,
  // The days of the filter are days of the shop, so only a search without them can begin before the session is known.
  load: async ({ call, query }) => (query.from === null && query.to === null ? find(call, query, 'UTC') : null),
  async handle(context) {
    const { call, query, data, session, t } = context
    const refused = errorsIn(context, query)
    if (refused.length > 0) throw new FormRefused(...refused)
    const found = data ?? (await find(call, query, session.tenant.timezone))
    if (found.people.length > MOST_PEOPLE)
      throw new FormRefused({ field: 'who', message: t.auditLog.tooManyPeople(MOST_PEOPLE) })
    return showLog(context, query, found)
  },
  again: (context) => showLog(context, context.query, null),
})

async function showLog(context: ShopUi, query: Query, found: Found | null): Promise<View> {
  const { logView } = await import('#web/pages/audit-log/log-views.ts')
  return logView(context, query, found, await actionsIn(context.language))
}
