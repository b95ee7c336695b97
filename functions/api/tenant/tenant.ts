import * as v from 'valibot'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Tenant } from '#shared/identity/tenant.ts'

/** Whom a tenant asks for a second factor. Managers hold every permission, or one on members, vendor accounts or the tenant. */
export const SECOND_FACTOR_POLICIES = ['none', 'managers', 'everyone'] as const

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
