import { routeGroup } from '#shared/http/group.ts'
import { listPrices } from './list-prices.ts'
import { listSizes } from './list-sizes.ts'
import { listSyncRuns } from './list-sync-runs.ts'
import { listStyles } from './list-styles.ts'
import { listVariants } from './list-variants.ts'
import { readStyle } from './read-style.ts'
import { readSyncRun } from './read-sync-run.ts'
import { resolveSize } from './resolve-size.ts'
import { startSyncRun } from './start-sync-run.ts'

export const group = routeGroup({
  name: 'catalog',
  bodyLimitBytes: 16 * 1024,
  endpoints: [
    listStyles,
    readStyle,
    listVariants,
    listSizes,
    resolveSize,
    listPrices,
    startSyncRun,
    listSyncRuns,
    readSyncRun,
  ],
})
