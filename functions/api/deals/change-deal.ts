import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound, Problem } from '#shared/base/problem.ts'
import { fault } from '#shared/schema/fault.ts'
import { CustomerName, Deal, STATUSES, type Status } from './deal.ts'
import { lockDeal, updateDeal } from './deal-queries.ts'
import { visibleDeal } from './visible-prices.ts'

const NOT_A_STATUS = fault({ code: 'not-a-choice', choices: `one of ${STATUSES.join(', ')}` })

/** The statuses that each status may change to. A deal whose status may not change is final, and so is its customer. */
const NEXT: Readonly<Record<Status, readonly Status[]>> = {
  draft: ['quoted'],
  quoted: ['draft', 'won', 'lost'],
  won: [],
  lost: [],
}

export const changeDeal = endpoint({
  route: 'PATCH /v1/deals/{id}',
  access: { permission: 'deal.write' },
  summary: 'Change the customer or the status of a deal',
  body: v.object({
    customer_name: v.optional(CustomerName),
    status: v.optional(v.pipe(v.picklist(STATUSES, NOT_A_STATUS), v.examples(['quoted']))),
  }),
  reply: Deal,
  etag: true,
  problems: ['deal-locked'],
  async handle(context) {
    const { params, body, ifMatch, principal, sql } = context
    const deal = await lockDeal(sql, params.id)
    if (deal === null) throw notFound('no deal with this id')
    requireMatch(ifMatch, visibleDeal(principal, deal))
    const { customer_name: customerName = deal.customer_name, status = deal.status } = body
    const renamed = customerName !== deal.customer_name
    if (!renamed && status === deal.status) return okWithEtag(visibleDeal(principal, deal))
    const next = NEXT[deal.status]
    if (next.length === 0 || (status !== deal.status && !next.includes(status)))
      throw new Problem('deal-locked', { detail: 'The status of the deal does not allow this change.' })
    const updatedAt = await updateDeal(sql, { id: deal.id, customerName, status })
    const changed = { ...deal, customer_name: customerName, status, updated_at: updatedAt }
    const audited = (each: Deal) => ({ status: each.status, customer_name: each.customer_name })
    await recordAudit(context, {
      action: 'deal.changed',
      targetId: deal.id,
      before: audited(deal),
      after: audited(changed),
    })
    return okWithEtag(visibleDeal(principal, changed))
  },
})
