import { routeGroup, type StartedGroup } from '#shared/http/group.ts'
import { endSession } from './end-session.ts'
import { listTenants } from './list-tenants.ts'
import { login } from './login.ts'
import { readSession } from './read-session.ts'
import { selectTenant } from './select-tenant.ts'

const daily = routeGroup({
  name: 'auth',
  role: 'auth',
  bodyLimitBytes: 16 * 1024,
  endpoints: [login, readSession, listTenants, selectTenant, endSession],
})

/** The group as its Lambda starts: a start reads what every person uses daily, and the first call of anything else reads the rest. */
export const atStart: StartedGroup = {
  ...daily,
  // What the rest needs too.
  needs: [...daily.needs, 'factor-key', 'invoke:deliver-mail'],
  all: async () => (await import('./group.ts')).group.endpoints,
}
