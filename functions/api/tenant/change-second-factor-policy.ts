import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { SECOND_FACTOR_POLICIES } from '#shared/identity/second-factor-policy.ts'
import { fault } from '#shared/schema/fault.ts'
import { setSecondFactorPolicy } from './queries.ts'
import { OwnTenant } from './tenant.ts'

const NOT_A_POLICY = fault({ code: 'not-a-choice', choices: `one of ${SECOND_FACTOR_POLICIES.join(', ')}` })

export const changeSecondFactorPolicy = endpoint({
  route: 'PUT /v1/tenant/second-factor-policy',
  // One call of a function, which checks the session and the role again under locks.
  access: { permission: 'company.write', transactions: 'by call', stepUp: true },
  summary: 'Set whom the tenant asks for a second factor, and after how many days',
  description:
    'From that date on, a session that has not proven a second factor is not live in the tenant. A date that stands only moves ' +
    'earlier. Managers hold every permission, or one on members, vendor accounts or the tenant. Members who are asked and have ' +
    'no second factor get a mail now, and one a day before the date.',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  body: v.object({
    require: v.pipe(v.picklist(SECOND_FACTOR_POLICIES, NOT_A_POLICY), v.examples(['none'])),
    grace_days: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(30), v.examples([14])),
  }),
  reply: OwnTenant,
  problems: ['second-factor-required'],
  async handle(context) {
    const { body, principal, call, runtime } = context
    const changed = await setSecondFactorPolicy(call, principal.ticket, {
      require: body.require,
      graceDays: body.grace_days,
      stepUpSeconds: runtime.config.factor.stepUpSeconds,
      source: requestSource(context),
    })
    await Promise.all([call.invoke('deliver-mail'), call.invoke('publish-events')])
    return ok(changed)
  },
})
