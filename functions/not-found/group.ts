import { routeGroup } from '#shared/http/group.ts'

/** Every path that no endpoint has. In a Lambda of its own, so that a scanner of paths cannot use up another's instances. */
export const group = routeGroup({ name: 'not-found', bodyLimitBytes: 1024, endpoints: [] })
