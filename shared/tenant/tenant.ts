export type TenantStatus = 'trial' | 'active' | 'past_due' | 'suspended' | 'cancelled'

/** A tenant as its members see it. */
export interface Tenant {
  readonly id: string
  readonly slug: string
  readonly legal_name: string
  readonly status: TenantStatus
  readonly timezone: string
  readonly currency: string
}

const NEXT: Readonly<Record<TenantStatus, readonly TenantStatus[]>> = {
  trial: ['active', 'past_due', 'suspended', 'cancelled'],
  active: ['past_due', 'suspended', 'cancelled'],
  past_due: ['active', 'suspended', 'cancelled'],
  suspended: ['active', 'cancelled'],
  cancelled: [],
}

/** Whether a tenant may go from one status to another; `cancelled` is final. */
export const mayBecome = (from: TenantStatus, to: TenantStatus): boolean => NEXT[from].includes(to)

/** Whether people may work in a tenant of this status. The database says the same in app.live_sessions. */
export const isOpen = (status: TenantStatus): boolean =>
  status === 'trial' || status === 'active' || status === 'past_due'
