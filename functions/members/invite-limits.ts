import type { LimitInput } from '#shared/http/endpoint.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const WINDOW_SECONDS = 3600

/** Limits the invitations that a tenant may send in an hour, including resent ones. */
export const inviteLimits = ({ principal, config, pepper }: LimitInput<unknown>): Limit[] => [
  {
    name: 'invite-tenant',
    subject: keyedHash(pepper, 'invite-tenant', principal?.tenant?.id ?? ''),
    limit: config.invite.tenantLimit,
    windowSeconds: WINDOW_SECONDS,
  },
]
