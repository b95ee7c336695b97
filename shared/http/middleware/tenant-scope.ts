import { isTenantAccess } from '#shared/http/access.ts'
import { Problem } from '#shared/base/problem.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { requireTenant } from '#shared/identity/check-session.ts'

/** Requires a selected tenant, and a role there that holds the permission of the route. */
export const tenantScope = (): Middleware => ({
  before: ({ context }) => {
    const { access } = matched(context.request).endpoint
    if (!isTenantAccess(access)) return
    const { principal, headers } = context.request
    // A request that names its tenant is refused when another tab has selected another one. It selects nothing.
    // A write checks again that the session is still in the tenant of this principal (app.enter_to_write).
    const expected = headers.get('if-tenant')?.toLowerCase()
    if (expected !== undefined && principal?.tenant?.id !== expected) throw new Problem('tenant-not-selected')
    requireTenant(principal, access.permission)
  },
})
