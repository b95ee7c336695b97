import { routeGroup } from '#shared/http/group.ts'
import { live } from './live.ts'
import { ready } from './ready.ts'

export const group = routeGroup({
  name: 'health',
  bodyLimitBytes: 1024,
  endpoints: [live, ready],
})
