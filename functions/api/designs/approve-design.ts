import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Design } from './design.ts'
import { lockDesign, setApproval } from './queries.ts'

export const approveDesign = endpoint({
  route: 'POST /v1/designs/{id}/approve',
  access: { permission: 'design.approve' },
  summary: 'Approve a design; a later change of its assets clears the approval',
  reply: Design,
  etag: true,
  async handle(context) {
    const { params, ifMatch, sql } = context
    const design = await lockDesign(sql, params.id)
    if (design === null) throw notFound('no design with this id')
    requireMatch(ifMatch, design)
    if (design.approved_at !== null) return okWithEtag(design)
    const approval = await setApproval(sql, design.id, true)
    await recordAudit(context, { action: 'design.approved', targetId: design.id })
    return okWithEtag({ ...design, ...approval })
  },
})
