import { routeGroup } from '#shared/http/group.ts'

/** Every path that no endpoint has. It has its own Lambda: a scan of paths cannot use up the instances of another group. */
export const group = routeGroup({ name: 'not-found', bodyLimitBytes: 1024, endpoints: [] })
