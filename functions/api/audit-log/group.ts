import { routeGroup } from '#shared/http/group.ts'
import { listEntries } from './list-entries.ts'

export const group = routeGroup({
  name: 'audit-log',
  bodyLimitBytes: 1024,
  endpoints: [listEntries],
})
