import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { perTenant } from '#shared/http/limit-by.ts'
import { ok } from '#shared/http/reply.ts'
import { Problem } from '#shared/base/problem.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { insertTag, Tag, TagName } from './queries.ts'

export const createTag = endpoint({
  route: 'POST /v1/tags',
  access: { permission: 'tag.write' },
  summary: 'Create a tag',
  body: v.object({ name: TagName }),
  reply: Tag,
  // A kind of its own would be one more line in shared/base/problem.ts.
  problems: ['role-exists'],
  limits: (input) => [perTenant('tag-tenant', input, { limit: input.config.tags.tenantLimit, windowSeconds: 3600 })],
  async handle(context) {
    const { body, sql } = context
    const tag = await insertTag(sql, body.name)
    if (tag === null) throw new Problem('role-exists', { detail: 'The tenant already has a tag of this name.' })
    await recordAudit(context, { action: 'tag.created', targetId: tag.id, after: { name: tag.name } })
    await enqueue(sql, 'count-words', { tag_id: tag.id })
    return ok(tag)
  },
})
