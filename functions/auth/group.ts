import { routeGroup } from '#shared/http/group.ts'
import { changePassword } from './change-password.ts'
import { endSession } from './end-session.ts'
import { listSessions } from './list-sessions.ts'
import { listTenants } from './list-tenants.ts'
import { login } from './login.ts'
import { readSession } from './read-session.ts'
import { revokeOtherSessions } from './revoke-other-sessions.ts'
import { revokeSession } from './revoke-session.ts'
import { selectTenant } from './select-tenant.ts'

export const group = routeGroup({
  name: 'auth',
  bodyLimitBytes: 16 * 1024,
  endpoints: [
    login,
    readSession,
    endSession,
    listTenants,
    selectTenant,
    listSessions,
    revokeSession,
    revokeOtherSessions,
    changePassword,
  ],
})
