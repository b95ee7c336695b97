import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { Asset, NewAsset } from './design.ts'
import { insertAsset, lockDesign, setApproval } from './queries.ts'

export const addAsset = endpoint({
  route: 'POST /v1/designs/{id}/assets',
  access: { permission: 'design.write' },
  summary: 'Add an asset and clear the approval; the first asset of a design is primary',
  body: NewAsset,
  reply: Asset,
  async handle(context) {
    const { params, body, sql } = context
    const design = await lockDesign(sql, params.id)
    if (design === null) throw notFound('no design with this id')
    const asset = await insertAsset(sql, { ...body, designId: design.id, isPrimary: design.assets.length === 0 })
    if (design.approved_at !== null) await setApproval(sql, design.id, false)
    await recordAudit(context, {
      action: 'design.asset_added',
      targetId: design.id,
      before: { approved_by: design.approved_by },
      after: { asset_id: asset.id, file_name: asset.file_name, sha256: asset.sha256, approved_by: null },
    })
    return ok(asset)
  },
})
