import { holds } from '#shared/identity/permissions.ts'
import type { ActingPrincipal } from '#shared/identity/session.ts'
import type { Deal, DealLine, ListedDeal } from './deal.ts'

const maySeePrices = ({ permissions }: ActingPrincipal): boolean => holds(permissions, 'deal.price.read')

const withoutPrice = ({ unit_price: _price, price_source: _source, total: _total, ...line }: DealLine): DealLine => line

const withoutTotal = ({ total: _total, ...deal }: ListedDeal): ListedDeal => deal

/** Returns the deal of a list as this principal may see it: without the keys of prices, unless the role may read them. */
export const visibleListedDeal = (principal: ActingPrincipal, deal: ListedDeal): ListedDeal =>
  maySeePrices(principal) ? deal : withoutTotal(deal)

/** Returns the deal as this principal may see it. */
export const visibleDeal = (principal: ActingPrincipal, { lines, ...deal }: Deal): Deal => ({
  ...visibleListedDeal(principal, deal),
  lines: maySeePrices(principal) ? lines : lines.map(withoutPrice),
})
