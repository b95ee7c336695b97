import { routeGroup } from '#shared/http/group.ts'
import { changeSecondFactorPolicy } from './change-second-factor-policy.ts'
import { changeTenant } from './change-tenant.ts'
import { readOverview } from './read-overview.ts'
import { readTenant } from './read-tenant.ts'

export const group = routeGroup({
  name: 'tenant',
  bodyLimitBytes: 32 * 1024,
  endpoints: [readTenant, changeTenant, changeSecondFactorPolicy, readOverview],
})
