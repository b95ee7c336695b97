import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/problem.ts'
import { Design } from './design.ts'
import { lockDesign, setApproval } from './queries.ts'

export const approveDesign = endpoint({
  route: 'POST /v1/designs/{id}/approve',
  access: { permission: 'design.approve' },
  summary: 'Approve a design; a later change of its assets clears the approval',
  reply: Design,
  async handle(context) {
    const { params, sql } = context
    const design = await lockDesign(sql, params.id)
    if (design === null) throw notFound('no design with this id')
    if (design.approved_at !== null) return ok(design)
    const approval = await setApproval(sql, design.id, true)
    await recordAudit(context, { action: 'design.approved', targetId: design.id })
    return ok({ ...design, ...approval })
  },
})
