interface InTenant {
  readonly tenant: {
    readonly id: string
    readonly slug: string
    readonly status: string
    readonly timezone: string
    readonly currency: string
  }
  /** The permissions of the role or the key. In those of a role, `*` stands for every permission. */
  readonly permissions: readonly string[]
  /** What the database checks before it enters the tenant. It is valid for a minute, and no longer than the session or the key. */
  readonly proof: string
}

/** Who calls, and for which tenant. Tenantry checked the session for this request. */
export interface Principal extends InTenant {
  readonly kind: 'session'
  readonly session_id: string
  /** When a second factor was proven in the session, or null. */
  readonly second_factor_at: string | null
  /** When the user last proved their presence: by signing in, or by a step-up. */
  readonly stepped_up_at: string | null
  readonly user: { readonly id: string; readonly email: string; readonly full_name: string | null }
  readonly membership_id: string
  readonly role: { readonly id: number; readonly code: string; readonly rank: number }
}

/** A program of a tenant that calls with an API key. It is no person: it has no user, session, membership or role. */
export interface KeyPrincipal extends InTenant {
  readonly kind: 'key'
  readonly key: { readonly id: string; readonly name: string }
}

interface ByKind {
  readonly session: Principal
  readonly key: KeyPrincipal
}

/** `session` is a person, `key` is an API key. */
export type PrincipalKind = keyof ByKind

/** The principal of these kinds. */
export type PrincipalOfKind<Kind extends PrincipalKind> = ByKind[Kind]

export type AnyPrincipal = PrincipalOfKind<PrincipalKind>

/** Who may call. */
export interface PrincipalOptions<Kind extends PrincipalKind> {
  /** `['session']` by default. A live credential of another kind gets a 403. */
  readonly principals?: readonly Kind[] | undefined
}
