import { routeGroup } from '#shared/http/group.ts'
import { changeDeal } from './change-deal.ts'
import { createDeal } from './create-deal.ts'
import { listDeals } from './list-deals.ts'
import { quotePrice } from './quote-price.ts'
import { readDeal } from './read-deal.ts'
import { readPriceBreaks } from './read-price-breaks.ts'
import { replaceLines } from './replace-lines.ts'
import { replacePriceBreaks } from './replace-price-breaks.ts'

export const group = routeGroup({
  name: 'deals',
  // 200 lines of at most 490 bytes.
  bodyLimitBytes: 96 * 1024,
  endpoints: [
    readPriceBreaks,
    replacePriceBreaks,
    quotePrice,
    listDeals,
    createDeal,
    readDeal,
    changeDeal,
    replaceLines,
  ],
})
