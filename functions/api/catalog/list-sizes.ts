import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { SizeList } from './size.ts'
import { findSizes } from './size-queries.ts'

export const listSizes = endpoint({
  route: 'GET /v1/catalog/sizes',
  access: { permission: 'catalog.read' },
  summary: 'All sizes with their aliases, smallest first',
  reply: SizeList,
  async handle({ sql }) {
    return ok({ data: await findSizes(sql) })
  },
})
