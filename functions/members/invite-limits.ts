import type { LimitInput } from '#shared/http/endpoint.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const WINDOW_SECONDS = 3600

/** How many invitations a shop may send in an hour, first ones and repeated ones together. */
export const inviteLimits = ({ principal, config, pepper }: LimitInput<unknown>): Limit[] => [
  {
    name: 'invite-tenant',
    subject: keyedHash(pepper, 'invite-tenant', principal?.tenant?.id ?? ''),
    limit: config.invite.tenantLimit,
    windowSeconds: WINDOW_SECONDS,
  },
]
