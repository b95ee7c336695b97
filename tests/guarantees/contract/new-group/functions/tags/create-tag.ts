import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Problem } from '#shared/problem.ts'
import { insertTag, Tag, TagName } from './queries.ts'

export const createTag = endpoint({
  route: 'POST /v1/tags',
  access: { permission: 'deal.write' },
  summary: 'Create a tag',
  body: v.object({ name: TagName }),
  reply: Tag,
  // A kind of its own would be one line in shared/problem.ts.
  problems: ['already-member'],
  // An entry in the audit log would be one line in shared/audit/actions.ts, and a call of recordAudit.
  audit: { none: 'a tag gives nobody access to anything' },
  async handle({ body, sql }) {
    const tag = await insertTag(sql, body.name)
    if (tag === null) throw new Problem('already-member', { detail: 'The tenant already has a tag of this name.' })
    return ok(tag)
  },
})
