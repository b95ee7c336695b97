import { routeGroup } from '#shared/http/group.ts'
import { introspect } from './introspect.ts'
import { listChanges } from './list-changes.ts'
import { listMemberships } from './list-memberships.ts'

export const group = routeGroup({
  name: 'services',
  role: 'services',
  bodyLimitBytes: 16 * 1024,
  endpoints: [introspect, listChanges, listMemberships],
})
