import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hasAtMost, isStorable } from '#shared/schema/text.ts'
import { SizeRef } from './size.ts'
import { findSizeOf } from './size-queries.ts'

const Alias = v.pipe(
  v.string('must be given once'),
  v.check(hasAtMost(60), 'must have at most 60 characters'),
  v.metadata({ maxLength: 60 }),
  v.check(isStorable, 'must be text'),
  v.examples(['XX-LARGE']),
)

export const resolveSize = endpoint({
  route: 'GET /v1/catalog/sizes/resolve',
  access: { permission: 'catalog.read' },
  summary: 'The size with this alias, or null for an unknown alias',
  query: v.object({ alias: Alias }),
  reply: v.object({ alias: Alias, size: v.nullable(SizeRef) }),
  async handle({ query: { alias }, sql }) {
    return ok({ alias, size: await findSizeOf(sql, alias) })
  },
})
