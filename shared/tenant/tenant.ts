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
