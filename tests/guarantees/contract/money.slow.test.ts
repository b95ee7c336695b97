import { expect, it } from 'vitest'
import { moneyFaults } from '#tests/support/money-rule.ts'

/** Pages and routes that count entries, people and products, in a `total`. */
const COUNTS = /^functions\/(?:api|web\/\w+)\/(?:audit-log|members|vendor-accounts\/sync|sync)\b/

it('never makes a number of money, by the types of every expression in functions and shared', () => {
  const faults = moneyFaults(['functions', 'shared'])
  expect(faults.filter(({ path, code }) => !COUNTS.test(path) || !/\btotal\b/.test(code))).toEqual([
    // The vendor's text, before `priceOf` reads it.
    { path: 'shared/suppliers/ss-activewear-catalog.ts', code: 'customerPrice' },
  ])
})

it('would show money that becomes a number under any name, and a price that is not Money', () => {
  const planted = [
    'Number(line.unit_price)',
    'Number.parseFloat(alias)',
    'Number(deal.total)',
    'BigInt(fees[0] ?? fee)',
    'fees.map(Number)',
    '+fee',
    'fee + 1',
    "fee < '5'",
    'fee as unknown',
  ]
  const text = `
    import type { Money } from '#shared/schema/money.ts'
    import type { ListedDeal } from './deal.ts'
    declare const fee: Money
    declare const fees: readonly Money[]
    declare const line: { readonly unit_price: Money | null }
    declare const deal: ListedDeal
    const alias = fee
    export const sum = [${planted.join(', ')}]
    export interface Line { unit_price: number }
    export const charge = (totalAmount: string | null) => [totalAmount, fee === '1.00', Number(deal.number)]`
  expect(moneyFaults([], { path: 'functions/api/deals/planted.ts', text }).map(({ code }) => code)).toEqual([
    ...planted,
    'unit_price: number',
    'totalAmount: string | null',
  ])
})
