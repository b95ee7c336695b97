import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { Problem } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { fault } from '#shared/schema/fault.ts'
import { findTenant, setSecondFactorPolicy } from './queries.ts'
import { OwnTenant, SECOND_FACTOR_POLICIES } from './tenant.ts'

const NOT_A_POLICY = fault({ code: 'not-a-choice', choices: `one of ${SECOND_FACTOR_POLICIES.join(', ')}` })

export const changeSecondFactorPolicy = endpoint({
  route: 'PUT /v1/tenant/second-factor-policy',
  access: { permission: 'company.write', exclusive: true, stepUp: true },
  summary: 'Set whom the tenant asks for a second factor, and after how many days',
  description:
    'From that date on, a session that has not proven a second factor is not live in the tenant. A date that stands only moves ' +
    'earlier. Managers hold every permission, or one on members, vendor accounts or the tenant.',
  body: v.object({
    require: v.pipe(v.picklist(SECOND_FACTOR_POLICIES, NOT_A_POLICY), v.examples(['none'])),
    grace_days: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(30), v.examples([14])),
  }),
  reply: OwnTenant,
  problems: ['second-factor-required'],
  async handle(context) {
    const { body, principal, sql } = context
    // So nobody shuts themselves out.
    if (body.require !== 'none' && principal.session.second_factor_at === null)
      throw new Problem('second-factor-required')
    const before = await findTenant(sql)
    const changed = await setSecondFactorPolicy(sql, { require: body.require, graceDays: body.grace_days })
    await recordAudit(context, {
      action: 'tenant.second_factor_policy_changed',
      targetId: changed.id,
      before: { second_factor: before.second_factor_policy.require },
      after: { second_factor: changed.second_factor_policy.require },
    })
    return ok(changed)
  },
})
