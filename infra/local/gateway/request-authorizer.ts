import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import * as v from 'valibot'
import type { AuthorizerFailure, GatewayResponse } from '#infra/gateway.ts'
import { AWS_ACCOUNT, AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'

/** A Lambda authorizer of the type REQUEST, whose identity source is the header Authorization. */
export interface RequestAuthorizer {
  readonly timeoutMs: number
  readonly resultsCacheTtlSeconds: number
  readonly invoke: (event: APIGatewayRequestAuthorizerEvent, timeoutMs: number) => Promise<unknown>
  /** Returns the gateway response to a failure of the authorizer. */
  readonly failure: (failure: AuthorizerFailure, requestId: string) => GatewayResponse
}

/** What an integration gets as `requestContext.authorizer`, or why it gets no request. */
type Authorized = { readonly context: object } | AuthorizerFailure | 'ACCESS_DENIED'

const Output = v.object({
  principalId: v.string(),
  policyDocument: v.object({
    Statement: v.array(
      v.object({
        Action: v.literal('execute-api:Invoke'),
        Effect: v.picklist(['Allow', 'Deny']),
        Resource: v.union([v.string(), v.array(v.string())]),
      }),
    ),
  }),
  // API Gateway takes no objects.
  context: v.optional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])), {}),
})

type Output = v.InferOutput<typeof Output>

/**
 * Authorizes requests as API Gateway does. Without the identity source it does not invoke the function. It keeps a policy by the
 * value of the identity source, and applies it to each method.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export function createAuthorize({ timeoutMs, resultsCacheTtlSeconds, invoke }: RequestAuthorizer) {
  const kept = new Map<string, { readonly output: Output; readonly until: number }>()

  const ask = async (event: APIGatewayProxyEvent, methodArn: string): Promise<Output | AuthorizerFailure> => {
    const { body: _body, isBase64Encoded: _isBase64Encoded, ...rest } = event
    try {
      const output = v.safeParse(Output, await invoke({ type: 'REQUEST', methodArn, ...rest } as never, timeoutMs))
      return output.success ? output.output : 'AUTHORIZER_CONFIGURATION_ERROR'
    } catch (error) {
      return error instanceof Error && error.message === 'Unauthorized' ? 'UNAUTHORIZED' : 'AUTHORIZER_FAILURE'
    }
  }

  return async (event: APIGatewayProxyEvent): Promise<Authorized> => {
    const identity = Object.entries(event.headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1] ?? ''
    if (identity === '') return 'UNAUTHORIZED'
    const { apiId, stage } = event.requestContext
    const methodArn = `arn:aws:execute-api:${AWS_REGION}:${AWS_ACCOUNT}:${apiId}/${stage}/${event.httpMethod}${event.path}`
    const found = kept.get(identity)
    const output = found !== undefined && Date.now() < found.until ? found.output : await ask(event, methodArn)
    if (typeof output === 'string') return output
    if (resultsCacheTtlSeconds > 0 && output !== found?.output)
      kept.set(identity, { output, until: Date.now() + resultsCacheTtlSeconds * 1000 })
    if (!allows(output, methodArn)) return 'ACCESS_DENIED'
    return { context: { principalId: output.principalId, ...output.context } }
  }
}

function allows({ policyDocument }: Output, methodArn: string): boolean {
  const applying = policyDocument.Statement.filter(({ Resource }) =>
    [Resource].flat().some((each) => matches(each, methodArn)),
  )
  return applying.length > 0 && applying.every(({ Effect }) => Effect === 'Allow')
}

/** `*` stands for any text, `?` for one character. */
const matches = (resource: string, arn: string): boolean =>
  new RegExp(
    `^${resource
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  ).test(arn)
