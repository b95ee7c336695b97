import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Design, withPrimary } from './design.ts'
import { deleteAsset, lockDesign, setApproval, setPrimary } from './queries.ts'

export const removeAsset = endpoint({
  route: 'DELETE /v1/designs/{id}/assets/{asset_id}',
  access: { permission: 'design.write' },
  summary: 'Remove an asset and clear the approval; the oldest remaining asset replaces a removed primary one',
  reply: Design,
  etag: true,
  async handle(context) {
    const { params, ifMatch, sql } = context
    const design = await lockDesign(sql, params.id)
    const removed = design?.assets.find(({ id }) => id === params.asset_id)
    if (design === null || removed === undefined) throw notFound('no design with this asset')
    requireMatch(ifMatch, design)
    const remaining = design.assets.filter((asset) => asset !== removed)
    const primary = removed.is_primary ? remaining[0] : remaining.find(({ is_primary: primary }) => primary)
    await deleteAsset(sql, design.id, removed.id)
    if (removed.is_primary && primary !== undefined) await setPrimary(sql, design.id, primary.id)
    if (design.approved_at !== null) await setApproval(sql, design.id, false)
    await recordAudit(context, {
      action: 'design.asset_removed',
      targetId: design.id,
      before: {
        asset_id: removed.id,
        file_name: removed.file_name,
        sha256: removed.sha256,
        approved_by: design.approved_by,
      },
      after: { primary_asset_id: primary?.id ?? null, approved_by: null },
    })
    return okWithEtag({ ...design, approved_at: null, approved_by: null, assets: withPrimary(remaining, primary?.id) })
  },
})
