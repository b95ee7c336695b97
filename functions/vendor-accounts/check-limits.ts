import type { LimitInput } from '#shared/http/endpoint.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const WINDOW_SECONDS = 3600

/** Limits how often a tenant may check secrets with a vendor in an hour, so that nobody can guess a secret. */
export const checkLimits = ({ principal, config, pepper }: LimitInput<unknown>): Limit[] => [
  {
    name: 'vendor-tenant',
    subject: keyedHash(pepper, 'vendor-tenant', principal?.tenant?.id ?? ''),
    limit: config.vendor.tenantLimit,
    windowSeconds: WINDOW_SECONDS,
  },
]
