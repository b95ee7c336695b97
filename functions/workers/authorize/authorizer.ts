import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import * as v from 'valibot'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric, metered } from '#shared/base/metrics.ts'
import { PRINCIPAL_KINDS } from '#shared/identity/session.ts'
import type { RuntimeSource } from '#shared/lambda/runtime.ts'
import { authorize, type Decision, type Question } from './authorize.ts'
import { policyFor, questionOf } from './gateway-authorizer.ts'
import type { worker } from './worker.ts'

// A caller waits two seconds.
const DEADLINE_MS = 1800

const Asked = v.pipe(
  v.object({
    authorization: v.array(v.string()),
    permission: v.nullable(v.string()),
    principals: v.nullish(v.pipe(v.array(v.picklist(PRINCIPAL_KINDS)), v.minLength(1)), ['session']),
    step_up_seconds: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3600)), null),
    request_id: v.string(),
  }),
  v.transform(
    ({ request_id: requestId, step_up_seconds: stepUpSeconds, ...asked }): Question => ({
      ...asked,
      requestId,
      stepUpSeconds,
    }),
  ),
)

type Source = RuntimeSource<(typeof worker)['needs'][number]>

/** Returns the handler: other services invoke it, and API Gateway as the REQUEST authorizer of their APIs. */
export const authorizer = (source: Source) =>
  metered(async (event: unknown): Promise<Decision | APIGatewayAuthorizerResult> => {
    if (isFromGateway(event)) {
      const decision = await decide(source, questionOf(event))
      const outcome = outcomeOf(decision)
      countMetric('Authorized', outcome === 'unauthorized' ? 'thrown' : outcome)
      return policyFor(decision, event)
    }
    const asked = v.safeParse(Asked, event)
    // The parser's own message would repeat a token.
    if (!asked.success) throw new Error('the event is neither a question nor that of a REQUEST authorizer')
    const decision = await decide(source, asked.output)
    countMetric('Authorized', outcomeOf(decision))
    return decision
  })

const isFromGateway = (event: unknown): event is APIGatewayRequestAuthorizerEvent =>
  typeof event === 'object' && event !== null && 'type' in event && event.type === 'REQUEST'

const REFUSED = { 401: 'unauthorized', 403: 'forbidden', 429: 'limited' } as const

const outcomeOf = (decision: Decision) => (decision.outcome === 'allowed' ? 'allowed' : REFUSED[decision.status])

/** Throws when a dependency fails or does not respond in time, so that no caller takes that for a refusal. */
async function decide(source: Source, question: Question): Promise<Decision> {
  const { promise: expired, reject: expire } = Promise.withResolvers<never>()
  const timer = setTimeout(() => expire(new Error(`no decision within ${DEADLINE_MS} ms`)), DEADLINE_MS)
  try {
    const decided = source.open().then((opened) => authorize(opened, question))
    return await Promise.race([decided, expired])
  } catch (error) {
    countMetric('Authorized', 'failed')
    log.error('authorization failed', { request_id: question.requestId, error: describeError(error) })
    throw new Error('the authorization failed', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
