/** Who calls, and for which tenant. Tenantry checked the session for this request. */
export interface Principal {
  readonly kind: 'session'
  readonly session_id: string
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
