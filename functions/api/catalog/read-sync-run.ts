import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { SyncRunDetail } from './sync-run.ts'
import { findRun, findUnknownSizes } from './sync-run-queries.ts'

export const readSyncRun = endpoint({
  route: 'GET /v1/catalog/sync-runs/{id}',
  access: { permission: 'vendor.manage' },
  summary: 'One sync run; its counts grow while it runs',
  reply: SyncRunDetail,
  async handle({ params, sql }) {
    const run = await findRun(sql, params.id)
    if (run === null) throw notFound('no sync run with this id')
    return ok({ ...run, unknown_sizes: await findUnknownSizes(sql, params.id) })
  },
})
