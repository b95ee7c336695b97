import type { LimitInput } from '#shared/http/request-context.ts'
import { perTenant } from '#shared/http/limit-by.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'

const HOUR_SECONDS = 3600

/** Limits the invitations that a tenant may send in an hour, including resent ones. */
export const tenantLimit = (input: Pick<LimitInput<unknown>, 'config' | 'pepper' | 'principal'>): Limit =>
  perTenant('invite-tenant', input, { limit: input.config.invite.tenantLimit, windowSeconds: HOUR_SECONDS })
