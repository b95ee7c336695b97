import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { SYNC_ERRORS } from '#shared/suppliers/sync-run.ts'

const example = (text: string) => v.pipe(v.string(), v.examples([text]))
const count = (what: string) => v.pipe(v.number(), v.integer(), v.description(what), v.examples([320]))

/** A sync run: one reading of a vendor's products and of the tenant's prices. The counts grow while it runs. */
export const SyncRun = v.pipe(
  v.object({
    id: Id,
    vendor: v.object({ code: example('ss-activewear'), name: example('S&S Activewear') }),
    vendor_account_id: Id,
    vendor_account: v.object({
      label: v.nullable(example('Main account')),
      account_number: example('123456'),
      status: v.picklist(['verified', 'unverified', 'revoked']),
    }),
    status: v.picklist(['queued', 'running', 'succeeded', 'failed']),
    started_by: v.nullable(Id),
    created_at: Timestamp,
    started_at: v.nullable(Timestamp),
    finished_at: v.nullable(Timestamp),
    products_read: count('How many products of the vendor the run has read, also those without anything to sell.'),
    products_total: v.nullable(count('How many products it reads. Null before the vendor has listed them.')),
    styles: count('How many products the run read.'),
    variants: count('How many SKUs it read.'),
    prices: count('How many prices it read.'),
    unresolved_sizes: count('How many different texts for a size are no known size.'),
    added: count('How many SKUs the catalog did not have before.'),
    dearer: count('How many prices rose.'),
    cheaper: count('How many prices fell.'),
    withdrawn: count(
      'How many SKUs the vendor no longer lists, or no longer with a price. The run withdrew the SKU or the price.',
    ),
    withheld: count(
      'How many SKUs the run found gone and kept, because they are at least 25 and more than half, or the vendor listed none.',
    ),
    error: v.pipe(v.nullable(v.picklist(SYNC_ERRORS)), v.description('Why the run failed.')),
  }),
  v.title('SyncRun'),
)

/** The most unknown sizes that a run names. */
export const MOST_UNKNOWN_SIZES = 100

export const SyncRunDetail = v.pipe(
  v.object({
    ...SyncRun.pipe[0].entries,
    unknown_sizes: v.pipe(
      v.array(example('2XTALL')),
      v.maxLength(MOST_UNKNOWN_SIZES),
      v.description(`The texts that are no known size, of ${MOST_UNKNOWN_SIZES} at most.`),
    ),
  }),
  v.title('SyncRunDetail'),
)

export type SyncRun = Readonly<v.InferOutput<typeof SyncRun>>
export type SyncRunDetail = Readonly<v.InferOutput<typeof SyncRunDetail>>
