import { isTenantAccess, type TenantAccess } from '#shared/http/access.ts'
import { Problem } from '#shared/base/problem.ts'
import { type Middleware, matched, type RequestState } from '#shared/http/request.ts'
import { requireTenant } from '#shared/identity/check-session.ts'
import { requireStepUp } from '#shared/identity/step-up.ts'

/** Requires a selected tenant, a role there that holds the permission of the route, and the step-up of the route. */
export const tenantScope = (): Middleware => ({
  before: ({ context }) => {
    const { endpoint, runtime } = matched(context.request)
    const { access, stepUp } = endpoint
    if (isTenantAccess(access)) requireAccess(context.request, access)
    const { principal } = context.request
    if (stepUp !== null && principal?.kind === 'session') requireStepUp(principal, stepUp, runtime.config.factor)
  },
})

function requireAccess({ principal, headers }: RequestState, { permission }: TenantAccess): void {
  // A request that names its tenant is refused when another tab has selected another one. It selects nothing.
  // A write checks again that the session is still in the tenant of this principal (app.enter_to_write).
  const expected = headers.get('if-tenant')?.toLowerCase()
  if (expected !== undefined && principal?.tenant?.id !== expected) throw new Problem('tenant-not-selected')
  requireTenant(principal, permission)
}
