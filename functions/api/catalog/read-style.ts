import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { findStyle, Style } from './queries.ts'

export const readStyle = endpoint({
  route: 'GET /v1/catalog/styles/{id}',
  access: { permission: 'catalog.read' },
  summary: 'One style',
  reply: Style,
  async handle({ params, sql }) {
    const style = await findStyle(sql, params.id)
    if (style === null) throw notFound('no style with this id')
    return ok(style)
  },
})
