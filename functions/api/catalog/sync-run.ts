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
    status: v.picklist(['queued', 'running', 'succeeded', 'failed']),
    started_by: v.nullable(Id),
    created_at: Timestamp,
    started_at: v.nullable(Timestamp),
    finished_at: v.nullable(Timestamp),
    styles: count('How many products the run read.'),
    variants: count('How many SKUs it read.'),
    prices: count('How many prices it read.'),
    unresolved_sizes: count('How many different texts for a size are no known size.'),
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

export type SyncRun = Readonly<v.InferOutput<typeof SyncRun>>
