import type { Client } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { present } from '#web/http/query.ts'
import { type PageReply, redirect, text } from '#web/http/reply.ts'
import {
  actionsIn,
  errorsIn,
  fieldsOf,
  findPeople,
  isSearchable,
  Query,
  sentFilter,
} from '#web/pages/audit-log/filter.ts'
import { withQuery } from '#web/view/parts.ts'

const SHARED = { access: { permission: 'member.manage' }, query: Query } as const

/** Finds the people of the search, and what the file of their entries contains. */
async function findPart(call: Client['call'], query: Query, timezone: string) {
  const people = await findPeople(call, query)
  if (!isSearchable(query, people)) return { people, part: undefined }
  const filter = sentFilter(query, people, timezone)
  const cursor = present({ cursor: query.cursor })
  return {
    people,
    ...(await call('GET /v1/audit-log', { query: { ...filter, ...cursor, limit: 1, include: 'part' } })),
  }
}

/** Shows what one file contains, with its links, and leads to the next file. */
export const chooseDownload = page({
  route: 'GET /s/{slug}/audit-log/download',
  ...SHARED,
  // As for the log itself: only the days of a filter need the session first.
  load: async ({ call, query }) => (query.from === null && query.to === null ? findPart(call, query, 'UTC') : null),
  async handle(context) {
    const { call, query, data, session, params, language } = context
    const log = shopPath(params.slug, '/audit-log')
    if (errorsIn(context, query).length > 0) return redirect(withQuery(log, fieldsOf(query)))
    const { people, part } = data ?? (await findPart(call, query, session.tenant.timezone))
    if (!isSearchable(query, people)) return redirect(withQuery(log, fieldsOf(query)))
    const { downloadView } = await import('#web/pages/audit-log/log-views.ts')
    return downloadView(context, query, { people, part: part ?? null, actions: await actionsIn(language) })
  },
})

type FileContext = ShopUi & Pick<Client, 'call' | 'callForFile'> & { readonly query: Query }

/** Passes a file of the API on. It calls for it when the shop of the address is settled: the call is an entry of the log. */
async function passOn(context: FileContext, format: 'csv' | 'ndjson', contentType: string): Promise<PageReply> {
  const { call, callForFile, query, session } = context
  const { tenant } = session
  const people = await findPeople(call, query)
  if (errorsIn(context, query).length > 0 || !isSearchable(query, people))
    return redirect(withQuery(shopPath(tenant.slug, '/audit-log'), fieldsOf(query)))
  const filter = sentFilter(query, people, tenant.timezone)
  const content = await callForFile('GET /v1/audit-log', {
    query: { ...filter, ...present({ cursor: query.cursor }), format },
  })
  const disposition = `attachment; filename="audit-log-${tenant.slug}.${format}"`
  return text(`${contentType}; charset=utf-8`, content, { headers: { 'content-disposition': disposition } })
}

export const downloadCsv = page({
  ...SHARED,
  route: 'GET /s/{slug}/audit-log.csv',
  handle: (context) => passOn(context, 'csv', 'text/csv'),
})

export const downloadNdjson = page({
  ...SHARED,
  route: 'GET /s/{slug}/audit-log.ndjson',
  handle: (context) => passOn(context, 'ndjson', 'application/x-ndjson'),
})
