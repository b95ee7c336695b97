import * as v from 'valibot'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { SECOND_FACTOR_POLICIES } from '#shared/identity/second-factor-policy.ts'
import { Tenant } from '#shared/identity/tenant.ts'

/** The principal's own tenant, with its settings. */
export const OwnTenant = v.pipe(
  v.object({
    ...Tenant.entries,
    settings: v.pipe(
      v.record(v.string(), v.unknown()),
      v.examples([{ artwork_due_days: 3, theme: { accent: 'navy' } }]),
    ),
    updated_at: Timestamp,
    second_factor_policy: v.object({
      require: v.picklist(SECOND_FACTOR_POLICIES),
      managers_from: v.nullable(Timestamp),
      everyone_from: v.nullable(Timestamp),
    }),
  }),
  v.title('OwnTenant'),
)

export type OwnTenant = Readonly<v.InferOutput<typeof OwnTenant>>
