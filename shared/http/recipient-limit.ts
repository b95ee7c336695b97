import type { Config } from '#shared/base/config.ts'
import { limitOn } from '#shared/http/limit-by.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { mailboxOf } from '#shared/schema/email.ts'

const DAY_SECONDS = 86_400

/** Limits the invitations that are mailed to a recipient, by all tenants together. */
export const recipientLimit = (input: { readonly config: Config; readonly pepper: string }, email: string): Limit =>
  limitOn('invite-recipient', input, mailboxOf(email), {
    limit: input.config.invite.recipientLimit,
    windowSeconds: DAY_SECONDS,
  })
