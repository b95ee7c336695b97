import type { LimitInput } from '#shared/http/endpoint.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { mailboxOf } from '#shared/schema/email.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const HOUR_SECONDS = 3600
const DAY_SECONDS = 86_400

/** Limits the invitations that a tenant may send in an hour, including resent ones. */
export const tenantLimit = ({
  config,
  pepper,
  principal,
}: Pick<LimitInput<unknown>, 'config' | 'pepper' | 'principal'>): Limit => ({
  name: 'invite-tenant',
  subject: keyedHash(pepper, 'invite-tenant', principal?.tenant?.id ?? ''),
  limit: config.invite.tenantLimit,
  windowSeconds: HOUR_SECONDS,
})

/** Limits the invitations that are mailed to a recipient, by all tenants together. */
export const recipientLimit = (
  { config, pepper }: Pick<LimitInput<unknown>, 'config' | 'pepper'>,
  email: string,
): Limit => ({
  name: 'invite-recipient',
  subject: keyedHash(pepper, 'invite-recipient', mailboxOf(email)),
  limit: config.invite.recipientLimit,
  windowSeconds: DAY_SECONDS,
})
