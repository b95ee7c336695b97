import { App, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Rule } from 'aws-cdk-lib/aws-events'
import { expect, it } from 'vitest'
import { Tenantry, TenantryAuthorizer } from '#infra/consumer.ts'
import { AUTHORIZER_RESPONSES, GATEWAY_RESPONSES } from '#infra/gateway.ts'
import { synthesized } from './synthesized.ts'

/** Synthesizes a stack of another team: one API, whose function asks for decisions, opens credentials and gets events. */
function ordersStack(): Template {
  const stack = new Stack(new App(), 'orders')
  const tenantry = Tenantry.fromStage(stack, 'prod')
  const orders = new LambdaFunction(stack, 'Orders', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => ({ statusCode: 200 })'),
  })
  tenantry.grantAuthorize(orders)
  tenantry.grantOpenCredential(orders)
  const restApi = new RestApi(stack, 'Api')
  const authorizer = new TenantryAuthorizer(stack, 'Authorizer', { tenantry, restApi })
  restApi.root.addMethod('GET', new LambdaIntegration(orders), { authorizer })
  const { eventBus } = Tenantry.fromStage(stack, 'prod')
  new Rule(stack, 'Rule', { eventBus }).addEventPattern({ source: ['tenantry'] })
  return Template.fromStack(stack)
}

const template = ordersStack()
const parameter = (name: string): { Ref: string } => {
  const found = Object.entries(template.findParameters('*', { Default: `/tenantry/prod/${name}` }))
  expect(found.map(([, { Type }]) => Type)).toEqual(['AWS::SSM::Parameter::Value<String>'])
  return { Ref: found[0]?.[0] ?? '' }
}

it('lets a function of another app invoke authorize and open-credential, and nothing else', () => {
  const functions = ['authorize-function-arn', 'open-credential-function-arn'].map(parameter)
  template.hasResourceProperties('AWS::IAM::Policy', {
    PolicyName: Match.stringLikeRegexp('^OrdersServiceRole'),
    PolicyDocument: {
      Statement: functions.map((Resource) => ({ Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource })),
    },
  })
  template.hasResourceProperties('AWS::Lambda::Function', {
    Environment: {
      Variables: {
        TENANTRY_AUTHORIZE_FUNCTION: functions[0],
        TENANTRY_OPEN_CREDENTIAL_FUNCTION: functions[1],
        TENANTRY_PROBLEM_BASE_URL: parameter('problem-base-url'),
      },
    },
  })
})

it('asks anew for each request, and only when it has an Authorization header', () => {
  template.resourceCountIs('AWS::ApiGateway::Authorizer', 1)
  template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
    Type: 'REQUEST',
    AuthorizerResultTtlInSeconds: 0,
    IdentitySource: 'method.request.header.Authorization',
    AuthorizerCredentials: Match.anyValue(),
  })
  template.hasResourceProperties('AWS::ApiGateway::Method', { AuthorizationType: 'CUSTOM' })
})

it('responds to each failure of the API with problem details: 401, 403, and 503 with Retry-After', () => {
  const responses = Object.values(template.findResources('AWS::ApiGateway::GatewayResponse')).map(
    ({ Properties }) => Properties,
  )
  const types: string[] = responses.map(({ ResponseType }) => ResponseType)
  expect(types.toSorted()).toEqual(Object.keys({ ...GATEWAY_RESPONSES, ...AUTHORIZER_RESPONSES }).toSorted())
  const header = 'gatewayresponse.header'
  for (const [type, StatusCode, parameters] of [
    ['UNAUTHORIZED', '401', { [`${header}.www-authenticate`]: `'Bearer realm="api"'` }],
    ['ACCESS_DENIED', '403', {}],
    ['AUTHORIZER_FAILURE', '503', { [`${header}.retry-after`]: "'1'" }],
    ['AUTHORIZER_CONFIGURATION_ERROR', '503', { [`${header}.retry-after`]: "'1'" }],
  ] as const)
    expect(responses.find(({ ResponseType }) => ResponseType === type)).toMatchObject({
      StatusCode,
      ResponseParameters: { [`${header}.content-type`]: "'application/problem+json'", ...parameters },
    })
})

it('deploys the API anew when its error responses change', () => {
  const [deployment] = Object.values(template.findResources('AWS::ApiGateway::Deployment'))
  expect(deployment?.['DependsOn']).toEqual(expect.arrayContaining([expect.stringContaining('AUTHORIZERFAILURE')]))
})

it('gets its names from the parameters that a stage has', async () => {
  template.hasResourceProperties('AWS::Events::Rule', { EventBusName: parameter('event-bus-name') })
  const prod = await synthesized('prod')
  const written = prod
    .ofType('AWS::SSM::Parameter')
    .map(({ Properties }) => [Properties.Name, prod.named(Properties.Value)])
  expect(Object.fromEntries(written)).toMatchObject({
    '/tenantry/prod/authorize-function-arn': 'JobsauthorizeLive',
    '/tenantry/prod/problem-base-url': expect.stringMatching(/^https:/),
  })
})
