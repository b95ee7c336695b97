import type { LimitInput } from '#shared/http/request-context.ts'
import { perTenant } from '#shared/http/limit-by.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'

const HOUR_SECONDS = 3600
// The longest time that a request takes, so the limit is also that of a tenant's concurrent checks.
const REQUEST_SECONDS = 10

/**
 * Limits how often a tenant may check secrets with a vendor: in an hour, so that nobody can guess a secret, and at a time,
 * because a slow vendor holds an instance that other tenants need.
 */
export const checkLimits = (input: LimitInput<unknown>): Limit[] => {
  const { tenantBurst, tenantLimit } = input.config.vendor
  return [
    perTenant('vendor-tenant-burst', input, { limit: tenantBurst, windowSeconds: REQUEST_SECONDS }),
    perTenant('vendor-tenant', input, { limit: tenantLimit, windowSeconds: HOUR_SECONDS }),
  ]
}
