import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag } from '#shared/http/etag.ts'
import { findTenant } from './queries.ts'
import { OwnTenant } from './tenant.ts'

export const readTenant = endpoint({
  route: 'GET /v1/tenant',
  access: { permission: 'company.read' },
  summary: 'The tenant and its settings',
  reply: OwnTenant,
  etag: true,
  async handle({ sql }) {
    return okWithEtag(await findTenant(sql))
  },
})
