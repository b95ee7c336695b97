import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'

export const TENANT_STATUSES = ['trial', 'active', 'past_due', 'suspended', 'cancelled'] as const

export const TenantStatus = v.pipe(v.picklist(TENANT_STATUSES), v.examples(['active']))

export type TenantStatus = v.InferOutput<typeof TenantStatus>

/** A tenant, as the API shows it. */
export const Tenant = v.pipe(
  v.object({
    id: Id,
    slug: v.pipe(v.string(), v.examples(['acme-print'])),
    legal_name: v.pipe(v.string(), v.examples(['Acme Print LLC'])),
    status: TenantStatus,
    timezone: v.pipe(v.string(), v.examples(['America/Chicago'])),
    currency: v.pipe(v.string(), v.examples(['USD'])),
  }),
  v.title('Tenant'),
)

export type Tenant = Readonly<v.InferOutput<typeof Tenant>>

const NEXT: Readonly<Record<TenantStatus, readonly TenantStatus[]>> = {
  trial: ['active', 'past_due', 'suspended', 'cancelled'],
  active: ['past_due', 'suspended', 'cancelled'],
  past_due: ['active', 'suspended', 'cancelled'],
  suspended: ['active', 'cancelled'],
  cancelled: [],
}

/** Returns whether a tenant may change from one status to the other. `cancelled` is final. */
export const mayBecome = (from: TenantStatus, to: TenantStatus): boolean => NEXT[from].includes(to)
