import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { PERMISSIONS } from '#shared/identity/permissions.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Permissions } from './api-key.ts'

export const readCurrentKey = endpoint({
  route: 'GET /v1/api-keys/current',
  access: 'key',
  summary: 'The API key of the request: its tenant and its permissions',
  reply: v.pipe(
    v.object({
      id: Id,
      name: v.pipe(v.string(), v.examples(['Nightly export'])),
      tenant: Tenant,
      permissions: Permissions,
      expires_at: Timestamp,
    }),
    v.title('CurrentApiKey'),
  ),
  async handle({ principal: { key, tenant, permissions } }) {
    return ok({ ...key, tenant, permissions: PERMISSIONS.filter((each) => permissions.includes(each)) })
  },
})
