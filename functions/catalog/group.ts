import { routeGroup } from '#shared/http/group.ts'
import { listPrices } from './list-prices.ts'
import { listSizes } from './list-sizes.ts'
import { listStyles } from './list-styles.ts'
import { listVariants } from './list-variants.ts'
import { readStyle } from './read-style.ts'
import { resolveSize } from './resolve-size.ts'

export const group = routeGroup({
  name: 'catalog',
  bodyLimitBytes: 16 * 1024,
  endpoints: [listStyles, readStyle, listVariants, listSizes, resolveSize, listPrices],
})
