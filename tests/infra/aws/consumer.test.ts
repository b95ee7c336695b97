import { App } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Code } from 'aws-cdk-lib/aws-lambda'
import { expect, it } from 'vitest'
import { AUTHORIZER_RESPONSES, GATEWAY_RESPONSES } from '#infra/gateway.ts'
import { OrdersStack } from '#tests/consumer/orders-stack.ts'
import { synthesized } from './synthesized.ts'

const code = Code.fromInline('exports.handler = async () => ({ statusCode: 200 })')
const stack = new OrdersStack(new App(), 'orders', { stage: 'prod', code })
const template = Template.fromStack(stack)
const parameter = (name: string): { Ref: string } => {
  const found = Object.entries(template.findParameters('*', { Default: `/tenantry/prod/${name}` }))
  expect(found.map(([, { Type }]) => Type)).toEqual(['AWS::SSM::Parameter::Value<String>'])
  return { Ref: found[0]?.[0] ?? '' }
}

it('lets a function of another app invoke authorize and open-credential, and nothing else', () => {
  const [authorize, openCredential] = ['authorize-function-arn', 'open-credential-function-arn'].map(parameter)
  // The alias is that of the service. Tenantry's resource policy names its role there.
  const functions = [authorize, { 'Fn::Join': ['', [openCredential, ':orders']] }]
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
    '/tenantry/prod/open-credential-function-arn': 'JobsopencredentialFunction',
    '/tenantry/prod/problem-base-url': expect.stringMatching(/^https:/),
  })
})
