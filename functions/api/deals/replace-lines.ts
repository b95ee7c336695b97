import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import type { FieldFault } from '#shared/schema/field-error.ts'
import { forbidden, invalid, notFound, Problem } from '#shared/base/problem.ts'
import { holds } from '#shared/identity/permissions.ts'
import { Deal, SentLines } from './deal.ts'
import { findDeal, lockDeal } from './deal-queries.ts'
import { type PricedLine, priceLines, storeLines } from './line-queries.ts'
import { visibleDeal } from './visible-prices.ts'

export const replaceLines = endpoint({
  route: 'PUT /v1/deals/{id}/lines',
  access: { permission: 'deal.write' },
  summary: 'Replace all lines of a draft; a line without a price gets that of a price break',
  body: v.object({ lines: SentLines }),
  reply: Deal,
  etag: true,
  problems: ['deal-locked'],
  async handle(context) {
    const { params, body, ifMatch, principal, sql } = context
    const sendsPrices = body.lines.some((line) => line.unit_price !== null)
    if (sendsPrices && !holds(principal.permissions, 'deal.price.write'))
      throw forbidden('a line has a price, and the role may not set prices')
    const deal = await lockDeal(sql, params.id)
    if (deal === null) throw notFound('no deal with this id')
    requireMatch(ifMatch, visibleDeal(principal, deal))
    if (deal.status !== 'draft') throw new Problem('deal-locked', { detail: 'Only the lines of a draft can change.' })
    const lines = await priceLines(sql, { id: deal.id, currency: deal.currency, lines: body.lines })
    const errors = errorsOf(lines)
    if (errors.length > 0) throw invalid(errors)
    await storeLines(sql, deal.id, lines)
    // No prices: a role that reads the audit log may be one that may not read prices.
    await recordAudit(context, {
      action: 'deal.lines_replaced',
      targetId: deal.id,
      before: { lines: deal.lines.length },
      after: { lines: lines.length },
    })
    const changed = await findDeal(sql, deal.id)
    if (changed === null) throw new Error('the locked deal is gone')
    return okWithEtag(visibleDeal(principal, changed))
  },
})

function errorsOf(lines: readonly PricedLine[]): FieldFault[] {
  const errors = lines.flatMap((line): FieldFault[] => {
    const pointer = `#/lines/${line.position - 1}`
    if (line.style_scope === null) return [{ pointer, code: 'nonexistent', kind: 'a style' }]
    if (!line.size_exists) return [{ pointer, code: 'nonexistent', kind: 'a size' }]
    if (line.unit_price === null) return [{ pointer, code: 'no-price' }]
    return line.fits ? [] : [{ pointer, code: 'total-too-large', has: 'has' }]
  })
  if (errors.length > 0 || lines.every((line) => line.all_fit)) return errors
  return [{ pointer: '#/lines', code: 'total-too-large', has: 'have' }]
}
