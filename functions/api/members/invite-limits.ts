import type { LimitInput } from '#shared/http/request-context.ts'
import { limitOn, perTenant } from '#shared/http/limit-by.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { mailboxOf } from '#shared/schema/email.ts'

const HOUR_SECONDS = 3600
const DAY_SECONDS = 86_400

/** Limits the invitations that a tenant may send in an hour, including resent ones. */
export const tenantLimit = (input: Pick<LimitInput<unknown>, 'config' | 'pepper' | 'principal'>): Limit =>
  perTenant('invite-tenant', input, { limit: input.config.invite.tenantLimit, windowSeconds: HOUR_SECONDS })

/** Limits the invitations that are mailed to a recipient, by all tenants together. */
export const recipientLimit = (input: Pick<LimitInput<unknown>, 'config' | 'pepper'>, email: string): Limit =>
  limitOn('invite-recipient', input, mailboxOf(email), {
    limit: input.config.invite.recipientLimit,
    windowSeconds: DAY_SECONDS,
  })
