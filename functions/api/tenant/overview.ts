import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { SYNC_ERRORS } from '#shared/suppliers/sync-run.ts'

const example = (text: string) => v.pipe(v.string(), v.examples([text]))
const count = (what: string, example: number) =>
  v.pipe(v.number(), v.integer(), v.description(what), v.examples([example]))

/** The most sync runs that failed of an overview. */
export const MOST_FAILED_SYNCS = 10

const FailedSync = v.object({
  id: Id,
  vendor: v.object({ code: example('ss-activewear'), name: example('S&S Activewear') }),
  error: v.picklist(SYNC_ERRORS),
  finished_at: Timestamp,
})

/** What is in a tenant, and what waits in it. A part is null for a role without its permission. */
export const Overview = v.pipe(
  v.object({
    people: v.pipe(
      v.nullable(
        v.object({
          members: count('How many people are members.', 12),
          invited: count('How many open invitations have neither expired nor come back.', 2),
          expired: count('How many open invitations have expired.', 0),
          bounced: count('How many open invitations could not be delivered.', 1),
          failed_sign_ins: count('How many sign-ins of members failed in the last 24 hours, up to 1,000.', 3),
        }),
      ),
      v.description('Null without `member.manage`.'),
    ),
    vendor_accounts: v.pipe(
      v.nullable(
        v.object({
          connected: count('How many vendor accounts have a secret.', 2),
          unverified: count('How many of them the vendor has not confirmed.', 0),
          failed_syncs: v.pipe(
            v.array(FailedSync),
            v.maxLength(MOST_FAILED_SYNCS),
            v.description('The latest sync run of each account, of the last 30 days, that failed. The newest first.'),
          ),
        }),
      ),
      v.description('Null without `vendor.manage`.'),
    ),
    deals: v.pipe(
      v.nullable(v.object({ draft: count('How many drafts.', 4), quoted: count('How many quoted deals.', 7) })),
      v.description('Null without `deal.read`.'),
    ),
    designs: v.pipe(
      v.nullable(v.object({ unapproved: count('How many designs nobody has approved.', 5) })),
      v.description('Null without `design.read`.'),
    ),
  }),
  v.title('Overview'),
)

export type Overview = Readonly<v.InferOutput<typeof Overview>>
