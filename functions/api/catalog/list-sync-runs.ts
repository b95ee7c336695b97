import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { fault } from '#shared/schema/fault.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { hasAtMost, isStorable } from '#shared/schema/text.ts'
import { SyncRun } from './sync-run.ts'
import { searchRuns } from './sync-run-queries.ts'

const VendorCode = v.pipe(
  v.string(fault({ code: 'repeated' })),
  v.check(hasAtMost(100), fault({ code: 'too-long', max: 100 })),
  v.metadata({ maxLength: 100 }),
  v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
  v.description('The code of a vendor.'),
)

export const listSyncRuns = endpoint({
  route: 'GET /v1/catalog/sync-runs',
  access: { permission: 'vendor.manage' },
  summary: 'The sync runs of the tenant, newest first',
  query: v.object({ ...AgePageQuery, vendor: v.optional(VendorCode) }),
  reply: pageOf(SyncRun),
  async handle({ query: { vendor, cursor = null, limit }, sql }) {
    return ok(page(await searchRuns(sql, { vendor, before: cursor, limit }), limit))
  },
})
