import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import {
  GATEWAY_RESPONSES,
  type GatewayFailure,
  gatewayResponse,
  INTEGRATION_TIMEOUT_MS,
  pageResponse,
} from '#infra/gateway.ts'
import type { Api, ApiMethod, Invoke } from '#infra/local/gateway/gateway.ts'
import { PAGES } from '#web/http/pages.ts'
import { liveArn } from '#infra/local/aws/lambda.ts'
import { policiesOf } from './policies.ts'
import { type Assembly, declaredFunctions, ofType, type Resolve, Undeployable } from './template.ts'

const { paths } = JSON.parse(readFileSync('functions/api/openapi/document.json', 'utf8'))

interface Options {
  readonly resolve: Resolve
  readonly problemBaseUrl: string
  readonly invokeOf: (name: string) => Invoke
}

/**
 * Returns the REST API that the template declares for the route groups. Throws Undeployable for an operation of the API document
 * without a method, a method without a function that it may invoke, a gateway response that is missing or differs from
 * infra/gateway.ts, and a timeout that differs from the contract or exceeds the function's own. The message names it.
 */
export const declaredApi = (assembly: Assembly, { problemBaseUrl, ...options }: Options): Api =>
  apiOf(assembly, {
    ...options,
    id: 'ApiRest',
    routes: Object.entries<object>(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((name) => `${name.toUpperCase()} ${path}`),
    ),
    expected: (failure, requestId) => gatewayResponse(failure, { requestId, problemBaseUrl }),
  })

/** Returns the REST API that the template declares for the front end. Throws Undeployable in the same cases, for the pages. */
export const declaredWebApi = (assembly: Assembly, options: Omit<Options, 'problemBaseUrl'>): Api =>
  apiOf(assembly, { ...options, id: 'WebApiRest', routes: PAGES.map(({ route }) => route), expected: pageResponse })

interface Expected {
  /** The beginning of the API's id in the template. */
  readonly id: string
  readonly routes: readonly string[]
  readonly expected: Api['failure']
}

function apiOf(assembly: Assembly, options: Omit<Options, 'problemBaseUrl'> & Expected): Api {
  const { id, routes, expected, resolve, invokeOf } = options
  const { Body: made, MinimumCompressionSize: compressionFromBytes } = definition(assembly, id)
  const methods = declaredMethods(assembly, made, resolve, invokeOf)
  const declared = new Set(methods.map(({ method, path }) => `${method} ${path}`))
  const missing = routes.find((route) => !declared.has(route) && !declared.has(route.replace(/^[A-Z]+/, 'ANY')))
  if (missing !== undefined) throw new Undeployable(`the API has no method for ${missing}`)
  return { methods, failure: declaredFailures(made, expected), compressionFromBytes }
}

function declaredMethods(
  assembly: Assembly,
  made: any,
  resolve: Resolve,
  invokeOf: (name: string) => Invoke,
): ApiMethod[] {
  const functions = [...declaredFunctions(assembly).values()]
  const policies = policiesOf(assembly, resolve)
  return Object.entries<any>(made.paths).flatMap(([path, operations]) =>
    Object.entries<any>(operations).map(([operation, declared]) => {
      const method = operation === 'x-amazon-apigateway-any-method' ? 'ANY' : operation.toUpperCase()
      const integration = declared['x-amazon-apigateway-integration']
      const what = `${method} ${path}`
      const uri = resolve(integration.uri, what)
      const [, arn = ''] =
        /^arn:aws:apigateway:[\w-]+:lambda:path\/2015-03-31\/functions\/(.+)\/invocations$/.exec(uri) ?? []
      const target = functions.find(({ name }) => liveArn(name) === arn)
      if (integration.type !== 'aws_proxy' || integration.httpMethod !== 'POST' || target === undefined)
        throw new Undeployable(`${what} has no function as its integration: ${integration.type} ${uri}`)
      const role = integration.credentials?.['Fn::GetAtt']?.[0]
      const call = { principal: role, action: 'lambda:InvokeFunction', resource: arn, context: {} }
      if (role === undefined || !policies.assumes('apigateway.amazonaws.com', role) || !policies.roleMay(role, call))
        throw new Undeployable(`no role lets the API invoke ${target.name} for ${what}`)
      const timeoutMs = integration.timeoutInMillis ?? 29_000
      if (timeoutMs !== INTEGRATION_TIMEOUT_MS)
        throw new Undeployable(`${what} has a timeout of ${timeoutMs} ms instead of ${INTEGRATION_TIMEOUT_MS}`)
      if (target.timeoutSeconds * 1000 <= timeoutMs)
        throw new Undeployable(`${target.name} times out after ${target.timeoutSeconds} s, before its integration does`)
      return { method, path, timeoutMs, invoke: invokeOf(target.name) }
    }),
  )
}

/** Returns the API with its definition, `Body`: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions.html */
function definition(assembly: Assembly, id: string): any {
  const api = ofType(assembly, 'AWS::ApiGateway::RestApi').find(([each]) => each.startsWith(id))?.[1]
  if (api?.Body === undefined) throw new Undeployable(`${id} has no definition`)
  return api
}

const HEADER = 'gatewayresponse.header.'

function declaredFailures(made: any, expected: Api['failure']): Api['failure'] {
  const declared = made['x-amazon-apigateway-gateway-responses']
  const failure: Api['failure'] = (name, requestId) => {
    const { statusCode, responseParameters = {}, responseTemplates = {} } = declared[name]
    const filled = (text: string): string => text.replaceAll('$context.requestId', requestId)
    const headers = Object.entries<string>(responseParameters).map(([parameter, value]) => {
      const text = /^'(.*)'$/.exec(value)?.[1]
      return [parameter.slice(HEADER.length), text ?? filled(`$${value}`)]
    })
    return {
      status: Number(statusCode),
      headers: Object.fromEntries(headers),
      body: filled(responseTemplates['application/json'] ?? ''),
    }
  }
  for (const name of Object.keys(GATEWAY_RESPONSES) as GatewayFailure[]) {
    if (declared[name] === undefined) throw new Undeployable(`the API has no gateway response ${name}`)
    const requestId = 'request-of-a-check'
    if (!isDeepStrictEqual(failure(name, requestId), expected(name, requestId)))
      throw new Undeployable(`the gateway response ${name} is ${JSON.stringify(failure(name, requestId))}`)
  }
  return failure
}
