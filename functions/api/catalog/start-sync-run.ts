import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { perTenant } from '#shared/http/limit-by.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound, Problem, unavailable } from '#shared/base/problem.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { Id } from '#shared/schema/id.ts'
import { SyncRun } from './sync-run.ts'
import { abandonRun, findActiveRun, findRun, findVendorOfAccount, insertRun } from './sync-run-queries.ts'

const HOUR_SECONDS = 3600

const WithdrawMost = v.pipe(
  v.optional(v.boolean(), false),
  v.description('Whether the run may withdraw more than half of the SKUs. Without it, such a run keeps them.'),
  v.examples([false]),
)

export const startSyncRun = endpoint({
  route: 'POST /v1/catalog/sync-runs',
  access: { permission: 'vendor.manage' },
  summary: 'Read the products of a vendor and the prices of the tenant, with a vendor account of the tenant',
  needs: ['invoke:sync-catalog'],
  body: v.object({ vendor_account_id: Id, withdraw_most: WithdrawMost }),
  reply: SyncRun,
  problems: [404, { kind: 'sync-active', members: v.object({ sync_run_id: Id }) }],
  limits: (input) => [
    perTenant('sync-tenant', input, { limit: input.config.vendor.syncLimit, windowSeconds: HOUR_SECONDS }),
  ],
  async handle(context) {
    const { body, sql } = context
    const { vendor_account_id: accountId, withdraw_most: withdrawMost } = body
    const vendor = await findVendorOfAccount(sql, accountId)
    if (vendor === null) throw notFound('no vendor account with this id')
    const abandoned = await abandonRun(sql, vendor)
    if (abandoned !== null) await recordAudit(context, { action: 'sync_run.abandoned', targetId: abandoned })
    const id = await insertRun(sql, { vendor, accountId, withdrawMost })
    if (id === null) {
      const active = await findActiveRun(sql, vendor)
      if (active === null) throw unavailable(new Error('the active sync run ended during the request'))
      throw new Problem('sync-active', {
        detail: 'A sync run of this vendor is queued or running.',
        members: { sync_run_id: active },
      })
    }
    await recordAudit(context, {
      action: 'sync_run.created',
      targetId: id,
      after: { vendor, vendor_account_id: accountId, withdraw_most: withdrawMost },
    })
    await enqueue(sql, 'sync-catalog', { run_id: id }, id)
    const run = await findRun(sql, id)
    if (run === null) throw new Error('the new sync run is missing')
    return ok(run)
  },
})
