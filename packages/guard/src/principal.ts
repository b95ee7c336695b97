/** Who calls, and for which tenant. Tenantry checked the session for this request. */
export interface Principal {
  readonly kind: 'session'
  readonly session_id: string
  /** When a second factor was proven in the session, or null. */
  readonly second_factor_at: string | null
  /** When the user last proved their presence: by signing in, or by a step-up. */
  readonly stepped_up_at: string | null
  readonly user: { readonly id: string; readonly email: string; readonly full_name: string | null }
  readonly tenant: {
    readonly id: string
    readonly slug: string
    readonly status: string
    readonly timezone: string
    readonly currency: string
  }
  readonly membership_id: string
  readonly role: { readonly id: number; readonly code: string; readonly rank: number }
  /** The permissions of the role. `*` stands for every permission. */
  readonly permissions: readonly string[]
  /** What the database checks before it enters the tenant. It is valid for a minute, and no longer than the session. */
  readonly proof: string
}
