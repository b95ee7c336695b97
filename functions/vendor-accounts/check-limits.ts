import type { LimitInput } from '#shared/http/endpoint.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const HOUR_SECONDS = 3600
// The longest time that a request takes, so the limit is also that of a tenant's concurrent checks.
const REQUEST_SECONDS = 10

/**
 * Limits how often a tenant may check secrets with a vendor: in an hour, so that nobody can guess a secret, and at a time,
 * because a slow vendor holds an instance that other tenants need.
 */
export const checkLimits = ({ principal, config, pepper }: LimitInput<unknown>): Limit[] => {
  const perTenant = (name: string, limit: number, windowSeconds: number): Limit => ({
    name,
    subject: keyedHash(pepper, name, principal?.tenant?.id ?? ''),
    limit,
    windowSeconds,
  })
  return [
    perTenant('vendor-tenant-burst', config.vendor.tenantBurst, REQUEST_SECONDS),
    perTenant('vendor-tenant', config.vendor.tenantLimit, HOUR_SECONDS),
  ]
}
