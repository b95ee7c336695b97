import { routeGroup } from '#shared/http/group.ts'
import { listEntries } from './list-entries.ts'

export const group = routeGroup({
  name: 'audit-log',
  bodyLimitBytes: 1024,
  needs: ['database:app', 'tokens'],
  endpoints: [listEntries],
})
