import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { fault } from '#shared/schema/fault.ts'
import { hasAtMost, isStorable } from '#shared/schema/text.ts'
import { SizeRef } from './size.ts'
import { findSizeOf } from './size-queries.ts'

const Alias = v.pipe(
  v.string(fault({ code: 'repeated' })),
  v.check(hasAtMost(60), fault({ code: 'too-long', max: 60 })),
  v.metadata({ maxLength: 60 }),
  v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
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
