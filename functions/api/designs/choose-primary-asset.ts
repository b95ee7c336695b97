import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Id } from '#shared/schema/id.ts'
import { Design, withPrimary } from './design.ts'
import { lockDesign, setPrimary } from './queries.ts'

export const choosePrimaryAsset = endpoint({
  route: 'PUT /v1/designs/{id}/primary-asset',
  access: { permission: 'design.write' },
  summary: 'Make another asset of the design its primary one',
  body: v.object({ asset_id: Id }),
  reply: Design,
  etag: true,
  async handle(context) {
    const { params, body, ifMatch, sql } = context
    const design = await lockDesign(sql, params.id)
    const chosen = design?.assets.find(({ id }) => id === body.asset_id.toLowerCase())
    if (design === null || chosen === undefined) throw notFound('no design with this asset')
    requireMatch(ifMatch, design)
    if (chosen.is_primary) return okWithEtag(design)
    await setPrimary(sql, design.id, chosen.id)
    await recordAudit(context, {
      action: 'design.primary_asset_chosen',
      targetId: design.id,
      before: { asset_id: design.assets.find(({ is_primary: primary }) => primary)?.id ?? null },
      after: { asset_id: chosen.id },
    })
    return okWithEtag({ ...design, assets: withPrimary(design.assets, chosen.id) })
  },
})
