import type { ProvenKeyPrincipal } from '#shared/identity/api-key-queries.ts'
import type { ProvenPrincipal } from '#shared/identity/session-queries.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'
import type { Tenant } from '#shared/identity/tenant.ts'

/** Who calls, as another service sees it. */
export type AllowedPrincipal = ReturnType<typeof describeSession> | ReturnType<typeof describeKey>

export const describeSession = ({
  kind,
  session,
  user,
  tenant,
  membershipId,
  role,
  permissions,
  proof,
}: TenantPrincipal & ProvenPrincipal) => ({
  kind,
  session_id: session.id,
  second_factor_at: session.second_factor_at,
  stepped_up_at: session.stepped_up_at,
  user: { id: user.id, email: user.email, full_name: user.full_name },
  tenant: tenantOf(tenant),
  membership_id: membershipId,
  role: { id: role.id, code: role.code, rank: role.rank },
  permissions,
  proof: proofOf(proof),
})

export const describeKey = ({ kind, key, tenant, permissions, proof }: ProvenKeyPrincipal) => ({
  kind,
  key: { id: key.id, name: key.name },
  tenant: tenantOf(tenant),
  permissions,
  proof: proofOf(proof),
})

const tenantOf = ({ id, slug, status, timezone, currency }: Tenant) => ({ id, slug, status, timezone, currency })

/** With it a service on the same database enters the tenant. */
const proofOf = (proof: Uint8Array | null): string => Buffer.from(proof ?? []).toString('base64url')
