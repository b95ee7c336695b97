import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Design } from './design.ts'
import { findDesign } from './queries.ts'

export const readDesign = endpoint({
  route: 'GET /v1/designs/{id}',
  access: { permission: 'design.read' },
  summary: 'A design with its assets',
  reply: Design,
  etag: true,
  async handle({ params, sql }) {
    const design = await findDesign(sql, params.id)
    if (design === null) throw notFound('no design with this id')
    return okWithEtag(design)
  },
})
