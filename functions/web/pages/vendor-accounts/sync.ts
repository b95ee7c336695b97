import * as v from 'valibot'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'

/** The address of the list of runs. */
export const runsPath = (slug: string): string => shopPath(slug, '/sync-runs')

/** The address of a run's page. */
export const runPath = (slug: string, id: string): string => `${runsPath(slug)}/${encodeURIComponent(id)}`

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/vendor-accounts/sync-views.ts')

export const listRuns = page({
  route: 'GET /s/{slug}/sync-runs',
  access: { permission: 'vendor.manage' },
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => call('GET /v1/catalog/sync-runs', { query: present({ cursor: query.cursor }) }),
  handle: async (context) => (await views()).runsView(context, context.data, context.query.cursor),
})

export const showRun = page({
  route: 'GET /s/{slug}/sync-runs/{id}',
  access: { permission: 'vendor.manage' },
  query: NoticeQuery,
  load: ({ call, params }) => call('GET /v1/catalog/sync-runs/{id}', { params: { id: params.id } }),
  handle: async (context) => (await views()).runView(context, context.data),
})
