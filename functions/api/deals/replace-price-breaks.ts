import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { holds } from '#shared/identity/permissions.ts'
import { PriceBreaks, SentBreaks } from './price-break.ts'
import { findPriceBreaks, storePriceBreaks } from './price-queries.ts'

export const replacePriceBreaks = endpoint({
  route: 'PUT /v1/price-breaks/{style_id}',
  // Exclusive, so that of two concurrent replacements one wins as a whole.
  access: { permission: 'deal.price.write', exclusive: true },
  summary: 'Replace the price breaks of a style; an empty list removes them',
  body: v.object({ breaks: SentBreaks }),
  reply: PriceBreaks,
  etag: true,
  async handle(context) {
    const { params, body, ifMatch, principal, sql } = context
    const replaced = await findPriceBreaks(sql, params.style_id)
    if (replaced === null) throw notFound('no style with this id')
    const readable = holds(principal.permissions, 'deal.price.read')
    const visible = (breaks: typeof replaced) => ({
      style_id: params.style_id,
      breaks: readable ? breaks : breaks.map(({ min_quantity }) => ({ min_quantity })),
    })
    requireMatch(ifMatch, visible(replaced))
    await storePriceBreaks(sql, params.style_id, body.breaks)
    const stored = (await findPriceBreaks(sql, params.style_id)) ?? []
    // A role may permit its members to read the audit log, and not prices.
    const quantities = (breaks: typeof stored) => ({ min_quantities: breaks.map((each) => each.min_quantity) })
    await recordAudit(context, {
      action: 'price_breaks.replaced',
      targetId: params.style_id,
      before: quantities(replaced),
      after: quantities(stored),
    })
    return okWithEtag(visible(stored))
  },
})
