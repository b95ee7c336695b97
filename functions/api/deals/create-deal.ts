import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { CustomerName, Deal } from './deal.ts'
import { insertDeal } from './deal-queries.ts'
import { visibleDeal } from './visible-prices.ts'

export const createDeal = endpoint({
  route: 'POST /v1/deals',
  access: { permission: 'deal.write' },
  summary: 'Create a deal under the next number of the tenant',
  body: v.object({ customer_name: CustomerName }),
  reply: Deal,
  async handle(context) {
    const { body, principal, sql } = context
    const deal = await insertDeal(sql, { customerName: body.customer_name })
    await recordAudit(context, {
      action: 'deal.created',
      targetId: deal.id,
      after: { number: deal.number, customer_name: deal.customer_name },
    })
    return ok(visibleDeal(principal, deal))
  },
})
