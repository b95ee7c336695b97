// Written by `npm run openapi`.
import type { group as apiKeys } from '#functions/api/api-keys/group.ts'
import type { group as auditLog } from '#functions/api/audit-log/group.ts'
import type { group as auth } from '#functions/api/auth/group.ts'
import type { group as catalog } from '#functions/api/catalog/group.ts'
import type { group as deals } from '#functions/api/deals/group.ts'
import type { group as designs } from '#functions/api/designs/group.ts'
import type { group as health } from '#functions/api/health/group.ts'
import type { group as members } from '#functions/api/members/group.ts'
import type { group as notFound } from '#functions/api/not-found/group.ts'
import type { group as openapi } from '#functions/api/openapi/group.ts'
import type { group as roles } from '#functions/api/roles/group.ts'
import type { group as services } from '#functions/api/services/group.ts'
import type { group as tenant } from '#functions/api/tenant/group.ts'
import type { group as vendorAccounts } from '#functions/api/vendor-accounts/group.ts'

/** Every endpoint of the service, as types alone. */
export type Api = Groups[keyof Groups]['endpoints'][number]

interface Groups {
  readonly apiKeys: typeof apiKeys
  readonly auditLog: typeof auditLog
  readonly auth: typeof auth
  readonly catalog: typeof catalog
  readonly deals: typeof deals
  readonly designs: typeof designs
  readonly health: typeof health
  readonly members: typeof members
  readonly notFound: typeof notFound
  readonly openapi: typeof openapi
  readonly roles: typeof roles
  readonly services: typeof services
  readonly tenant: typeof tenant
  readonly vendorAccounts: typeof vendorAccounts
}

/** The routes whose responses carry an ETag. */
export type RouteWithEtag =
  | 'GET /v1/price-breaks/{style_id}'
  | 'PUT /v1/price-breaks/{style_id}'
  | 'GET /v1/deals/{id}'
  | 'PATCH /v1/deals/{id}'
  | 'PUT /v1/deals/{id}/lines'
  | 'GET /v1/designs/{id}'
  | 'PUT /v1/designs/{id}/primary-asset'
  | 'DELETE /v1/designs/{id}/assets/{asset_id}'
  | 'POST /v1/designs/{id}/approve'
  | 'GET /v1/members/{id}'
  | 'PATCH /v1/members/{id}'
  | 'DELETE /v1/members/{id}'
  | 'GET /v1/roles/{id}'
  | 'PATCH /v1/roles/{id}'
  | 'DELETE /v1/roles/{id}'
  | 'GET /v1/tenant'
  | 'PATCH /v1/tenant'

/** The routes that an API key may call, if it holds the permission. */
export type RouteForKeys =
  | 'GET /v1/api-keys/current'
  | 'GET /v1/catalog/styles'
  | 'GET /v1/catalog/styles/{id}'
  | 'GET /v1/catalog/styles/{id}/variants'
  | 'GET /v1/catalog/sizes'
  | 'GET /v1/catalog/sizes/resolve'
  | 'GET /v1/catalog/prices'
  | 'GET /v1/price-breaks/{style_id}'
  | 'PUT /v1/price-breaks/{style_id}'
  | 'GET /v1/price-breaks/{style_id}/quote'
  | 'GET /v1/deals'
  | 'POST /v1/deals'
  | 'GET /v1/deals/{id}'
  | 'PATCH /v1/deals/{id}'
  | 'PUT /v1/deals/{id}/lines'
  | 'GET /v1/designs'
  | 'POST /v1/designs'
  | 'GET /v1/designs/{id}'
  | 'POST /v1/designs/{id}/assets'
  | 'PUT /v1/designs/{id}/primary-asset'
  | 'DELETE /v1/designs/{id}/assets/{asset_id}'
  | 'GET /v1/tenant'
