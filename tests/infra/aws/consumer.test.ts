import { App, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Rule } from 'aws-cdk-lib/aws-events'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { describe, expect, it } from 'vitest'
import { Tenantry } from '#infra/consumer.ts'
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

describe('a service of another account', () => {
  const named = () => synthesized('staging', { addresses: { serviceAccounts: ['777788889999'] } })

  it('may ask authorize and make rules on the bus for events of Tenantry, and change only its own', async () => {
    const stage = await named()
    const permission = stage
      .ofType('AWS::Lambda::Permission')
      .find(({ Properties }) => Properties.Principal === '777788889999')
    expect(permission?.Properties.Action).toBe('lambda:InvokeFunction')
    expect(stage.named(permission?.Properties.FunctionName)).toBe('JobsauthorizeLive')
    const { Statement, EventBusName } = stage.one('AWS::Events::EventBusPolicy').Properties
    expect(stage.named(EventBusName)).toBe('EventsBus')
    expect(JSON.stringify(Statement.Principal)).toContain(':iam::777788889999:root')
    expect(Statement.Action).not.toContain('events:PutEvents')
    expect(Statement.Condition).toEqual({
      StringEqualsIfExists: { 'events:creatorAccount': '${aws:PrincipalAccount}', 'events:source': 'tenantry' },
    })
    const prod = await synthesized('prod')
    expect(prod.ofType('AWS::Events::EventBusPolicy')).toEqual([])
  })

  it('gets its names from the outputs of the stage', async () => {
    const stage = await named()
    const app = new Stack(new App(), 'elsewhere')
    const region = 'us-east-1:111122223333'
    const outputs = {
      authorizeFunction: `arn:aws:lambda:${region}:function:tenantry-staging-authorize:live`,
      eventBus: `arn:aws:events:${region}:event-bus/tenantry-staging`,
      openCredentialFunction: `arn:aws:lambda:${region}:function:tenantry-staging-open-credential`,
      problemBaseUrl: 'https://staging.tenantry.example/problems',
    }
    const tenantry = Tenantry.fromOutputs(app, 'staging', outputs)
    const fn = new LambdaFunction(app, 'Orders', { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code })
    tenantry.grantAuthorize(fn)
    tenantry.grantOpenCredential(fn, 'orders')
    const closed = new Rule(app, 'Closed', { eventBus: tenantry.eventBus })
    closed.addEventPattern({ source: ['tenantry'] })
    const made = Template.fromStack(app)
    made.hasResourceProperties('AWS::Events::Rule', { EventBusName: outputs.eventBus })
    made.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: {
          TENANTRY_AUTHORIZE_FUNCTION: outputs.authorizeFunction,
          TENANTRY_OPEN_CREDENTIAL_FUNCTION: `${outputs.openCredentialFunction}:orders`,
          TENANTRY_PROBLEM_BASE_URL: outputs.problemBaseUrl,
        },
      },
    })
    for (const name of Object.keys(outputs)) {
      const output = name.charAt(0).toUpperCase() + name.slice(1)
      expect([...stage.outputs.keys()]).toContain(output)
    }
  })
})
