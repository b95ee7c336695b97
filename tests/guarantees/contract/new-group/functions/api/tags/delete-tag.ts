import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { removeTag } from './queries.ts'

export const deleteTag = endpoint({
  route: 'DELETE /v1/tags/{id}',
  access: { permission: 'tag.write' },
  summary: 'Delete a tag',
  problems: [404],
  async handle(context) {
    const { params, sql } = context
    const name = await removeTag(sql, params.id)
    if (name === null) throw notFound('no tag with this id')
    await recordAudit(context, { action: 'tag.deleted', targetId: params.id, before: { name } })
    return noContent()
  },
})
