import { routeGroup } from '#shared/http/group.ts'
import { listStyles } from './list-styles.ts'

export const group = routeGroup({
  name: 'catalog',
  bodyLimitBytes: 16 * 1024,
  endpoints: [listStyles],
})
