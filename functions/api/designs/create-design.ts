import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Design, DesignName } from './design.ts'
import { insertDesign } from './queries.ts'

export const createDesign = endpoint({
  route: 'POST /v1/designs',
  access: { permission: 'design.write' },
  summary: 'Create a design',
  body: v.object({ name: DesignName }),
  reply: Design,
  async handle(context) {
    const { body, sql } = context
    const design = await insertDesign(sql, { name: body.name })
    await recordAudit(context, { action: 'design.created', targetId: design.id, after: { name: body.name } })
    return ok(design)
  },
})
