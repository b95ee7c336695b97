import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { RequestHeaders } from '#shared/http/headers.ts'
import type { Decision, Question } from './authorize.ts'

/** The message of an error for which API Gateway responds with 401. It responds with 500 to any other. */
export const UNAUTHORIZED = 'Unauthorized'

/** Returns the question of a REQUEST authorizer: whether the caller is a member of a tenant. */
export const questionOf = ({ multiValueHeaders, requestContext }: APIGatewayRequestAuthorizerEvent): Question => ({
  authorization: new RequestHeaders(multiValueHeaders).all('authorization'),
  permission: null,
  principals: ['session'],
  stepUpSeconds: null,
  requestId: requestContext.requestId,
})

/** Returns the policy for the whole stage of the API, so that it does not matter which route it was made for. */
export function policyFor(
  decision: Decision,
  { methodArn }: APIGatewayRequestAuthorizerEvent,
): APIGatewayAuthorizerResult {
  if (decision.outcome === 'refused' && decision.status === 401) throw new Error(UNAUTHORIZED)
  const [api = '', stage = ''] = methodArn.split('/')
  const policy = (effect: 'Allow' | 'Deny') => ({
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect: effect, Resource: `${api}/${stage}/*` }],
  })
  if (decision.outcome === 'refused') return { principalId: 'refused', policyDocument: policy('Deny') }
  const { principal } = decision
  return {
    principalId: principal.kind === 'session' ? principal.user.id : principal.key.id,
    policyDocument: policy('Allow'),
    context: { principal: JSON.stringify(principal) },
  }
}
