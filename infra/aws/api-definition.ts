import { type GatewayFailure, GATEWAY_RESPONSES, type GatewayResponse, INTEGRATION_TIMEOUT_MS } from '#infra/gateway.ts'

/**
 * Returns the API in OpenAPI with API Gateway's extensions. `functionArns` has a path for each function to route to, which API
 * Gateway invokes with the role `credentials`. Each path has one method for all, so that the function answers a wrong method with 405. One resource of CloudFormation has the whole
 * definition, so the number of endpoints is not limited by the 500 resources of a stack.
 */
export const apiDefinition = (
  title: string,
  {
    functionArns,
    credentials,
    failure: responseTo,
    aws,
  }: {
    functionArns: ReadonlyMap<string, string>
    credentials: string
    failure: (failure: GatewayFailure, requestId: string) => GatewayResponse
    aws: { partition: string; region: string }
  },
): object => ({
  openapi: '3.0.1',
  info: { title, version: '1' },
  paths: Object.fromEntries(
    [...functionArns].map(([path, functionArn]) => [
      path,
      { 'x-amazon-apigateway-any-method': methodOf(path, functionArn, { ...aws, credentials }) },
    ]),
  ),
  // Not resources of their own: each update of the definition would delete them.
  'x-amazon-apigateway-gateway-responses': Object.fromEntries(
    (Object.keys(GATEWAY_RESPONSES) as GatewayFailure[]).map((failure) => [
      failure,
      errorResponse(responseTo(failure, '$context.requestId')),
    ]),
  ),
})

const methodOf = (
  path: string,
  functionArn: string,
  { partition, region, credentials }: { partition: string; region: string; credentials: string },
) => ({
  parameters: [...path.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  })),
  responses: {},
  'x-amazon-apigateway-integration': {
    type: 'aws_proxy',
    httpMethod: 'POST',
    credentials,
    uri: `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${functionArn}/invocations`,
    timeoutInMillis: INTEGRATION_TIMEOUT_MS,
  },
})

/** Returns one of API Gateway's error responses. API Gateway fills in the request id. */
export function errorResponse({ status, headers, body }: GatewayResponse) {
  return {
    statusCode: String(status),
    // A variable has no quotes, text does. Quotes within the text stay as they are.
    responseParameters: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        `gatewayresponse.header.${name}`,
        name === 'x-request-id' ? 'context.requestId' : `'${value}'`,
      ]),
    ),
    // The type that API Gateway looks for, whatever the client accepts. The header above replaces it.
    responseTemplates: { 'application/json': body },
  }
}
