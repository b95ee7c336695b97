import { describe, expect, it } from 'vitest'
import { GATEWAY_RESPONSES, gatewayResponse, INTEGRATION_TIMEOUT_MS } from '#infra/gateway.ts'
import { STAGES } from '#infra/stages.ts'
import { synthesized } from './synthesized.ts'
import { aliased, functionsOf, groups, other, prod } from './two-stages.ts'

describe('the API', () => {
  const definition = () => prod.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.Body

  it('routes each path to its group’s function by one ANY method, and every other path to not-found', () => {
    const { paths: made } = definition()
    const paths = groups.flatMap(({ group }) => group.endpoints.map(({ path }) => [path, group.name] as const))
    expect(Object.keys(made).toSorted()).toEqual(
      [...new Set([...paths.map(([path]) => path), '/', '/{proxy+}'])].toSorted(),
    )
    for (const [path, name] of [...paths, ['/', 'not-found'], ['/{proxy+}', 'not-found']] as const) {
      const integration = made[path]['x-amazon-apigateway-any-method']['x-amazon-apigateway-integration']
      expect(integration).toMatchObject({
        type: 'aws_proxy',
        httpMethod: 'POST',
        timeoutInMillis: INTEGRATION_TIMEOUT_MS,
      })
      const [, parts] = integration.uri['Fn::Join']
      const target = parts.find((part: any) => part.Ref?.startsWith('AWS::') === false)
      expect(aliased(prod, target)).toBe(functionsOf(prod, 'prod').get(name))
    }
  })

  it('compresses its responses from 1 KiB, and no page, beside whose CSRF field the size would tell', () => {
    const sizeOf = (id: string) => prod.one('AWS::ApiGateway::RestApi', id).Properties.MinimumCompressionSize
    expect([sizeOf('ApiRest'), sizeOf('WebApiRest')]).toEqual([1024, undefined])
  })

  it('times out before its functions do', () => {
    for (const { group } of groups)
      expect(functionsOf(prod, 'prod').get(group.name)?.Properties.Timeout * 1000).toBeGreaterThan(
        INTEGRATION_TIMEOUT_MS,
      )
  })

  it('shapes its own error responses like those of the functions, with a literal status', () => {
    const made = definition()['x-amazon-apigateway-gateway-responses']
    expect(new Set(Object.keys(made))).toEqual(new Set(Object.keys(GATEWAY_RESPONSES)))
    // An update of the definition deletes those that are resources of their own.
    expect(prod.ofType('AWS::ApiGateway::GatewayResponse')).toEqual([])
    for (const [failure, { status }] of Object.entries(GATEWAY_RESPONSES)) {
      const { statusCode, responseParameters, responseTemplates } = made[failure]
      expect(statusCode, failure).toBe(String(status))
      const body = JSON.parse(responseTemplates['application/json'])
      expect(body).toMatchObject({ status, instance: 'urn:uuid:$context.requestId', title: expect.any(String) })
      expect(body.type).toMatch(/^about:blank$|^https:\/\/tenantry\.example\/problems\/[a-z-]+$/)
      expect(responseParameters).toMatchObject({
        'gatewayresponse.header.content-type': "'application/problem+json'",
        'gatewayresponse.header.x-request-id': 'context.requestId',
        'gatewayresponse.header.cache-control': "'no-store'",
        'gatewayresponse.header.content-security-policy':
          "'default-src 'none'; base-uri 'none'; frame-ancestors 'none''",
        'gatewayresponse.header.referrer-policy': "'no-referrer'",
      })
      const { headers } = gatewayResponse(failure as keyof typeof GATEWAY_RESPONSES, {
        requestId: 'x',
        problemBaseUrl: '',
      })
      expect(Object.keys(responseParameters)).toEqual(
        Object.keys(headers).map((name) => `gatewayresponse.header.${name}`),
      )
    }
  })

  it('has room for 150 endpoints in one stack, with one role that invokes the functions of its routes alone', async () => {
    const count = groups.flatMap(({ group }) => group.endpoints).length
    const members = groups.find(({ group }) => group.name === 'members')
    const [first] = members?.group.endpoints ?? []
    if (members === undefined || first === undefined) throw new Error('members has no endpoint')
    const endpoints = [...members.group.endpoints]
    for (let more = count; more < 150; more += 1) endpoints.push({ ...first, path: `/v1/members/{id}/further-${more}` })
    const enlarged = { ...members, group: { ...members.group, endpoints } }
    const large = await synthesized('prod', { groups: [...groups.filter((each) => each !== members), enlarged] })
    expect(Object.keys(large.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.Body.paths).length).toBeGreaterThan(
      130,
    )
    const invoked = (rest: string) => {
      const { AssumeRolePolicyDocument, Policies } = large.one('AWS::IAM::Role', rest).Properties
      expect(AssumeRolePolicyDocument.Statement[0].Principal).toEqual({ Service: 'apigateway.amazonaws.com' })
      const [{ Action, Resource }] = Policies[0].PolicyDocument.Statement
      expect(Action).toBe('lambda:InvokeFunction')
      return [Resource].flat()
    }
    expect(invoked('ApiRole')).toHaveLength(groups.length)
    expect(invoked('WebApiRole')).toHaveLength(1)
    // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    expect(large.resources.size).toBeLessThanOrEqual(480)
    expect(JSON.stringify(Object.fromEntries(large.resources), null, 1).length).toBeLessThan(800_000)
  })

  it('is throttled, and keeps bodies, IP addresses, headers and queries out of logs and traces', () => {
    const { MethodSettings, AccessLogSetting, TracingEnabled } = prod.one(
      'AWS::ApiGateway::Stage',
      'ApiRest',
    ).Properties
    const setting = (HttpMethod: string, ResourcePath: string, { rate, burst }: { rate: number; burst: number }) => ({
      HttpMethod,
      // API Gateway's escape for a slash.
      ResourcePath: `/${ResourcePath.replaceAll('/', '~1')}`,
      LoggingLevel: 'ERROR',
      MetricsEnabled: false,
      DataTraceEnabled: false,
      ThrottlingRateLimit: rate,
      ThrottlingBurstLimit: burst,
    })
    const [all, ...single] = MethodSettings
    expect(all).toEqual(setting('*', '*', STAGES.prod.throttle))
    const signIn = [
      'api-keys/revoke',
      'auth/factor-resets/cancel',
      'auth/factor-resets/inspect',
      'auth/invitations/accept',
      'auth/invitations/inspect',
      'auth/login',
      'auth/login/passkey',
      'auth/login/passkey-options',
      'auth/login/second-factor',
      'auth/password/forgot',
      'auth/password/inspect',
      'auth/password/reset',
      'auth/verify',
      'auth/verify/inspect',
    ].map((path) => setting('POST', `/v1/${path}`, STAGES.prod.throttle.signIn))
    const byPath = (a: any, b: any) => a.ResourcePath.localeCompare(b.ResourcePath)
    expect(single.toSorted(byPath)).toEqual(signIn.toSorted(byPath))
    for (const { throttle } of Object.values(STAGES)) expect(throttle.signIn.rate).toBeLessThan(throttle.rate)
    expect(TracingEnabled).toBe(false)
    const variables = [...AccessLogSetting.Format.matchAll(/\$context\.([\w.]+)/g)].map(([, name]) => name)
    expect(variables).toContain('requestId')
    for (const name of variables) expect(name).not.toMatch(/identity|authorizer|userAgent|querystring|^path$|message/i)
  })

  it('requires TLS 1.2 or later, and serves only its own domain when it has one', () => {
    for (const stage of [prod, other])
      expect(stage.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.SecurityPolicy).toMatch(
        /^SecurityPolicy_TLS13_1_[23]_/,
      )
    expect(other.one('AWS::ApiGateway::DomainName', 'ApiRest').Properties).toMatchObject({
      DomainName: 'api.shop.test',
      SecurityPolicy: expect.stringMatching(/^SecurityPolicy_TLS13_1_[23]_/),
      EndpointAccessMode: 'STRICT',
    })
    expect(other.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.DisableExecuteApiEndpoint).toBe(true)
  })

  it('closes its first address when a stage gets its own domain, which API Gateway does only at a new deployment', async () => {
    const before = await synthesized('dev')
    const [earlier, later] = [before, other].map(({ resources }) =>
      [...resources]
        .filter(([id, { Type }]) => Type === 'AWS::ApiGateway::Deployment' && id.startsWith('ApiRest'))
        .map(([id]) => id),
    )
    expect([earlier?.length, later?.length]).toEqual([1, 1])
    expect(later).not.toEqual(earlier)
  })

  it('is behind a firewall, except in dev', () => {
    expect(other.ofType('AWS::WAFv2::WebACL')).toEqual([])
    for (const [firewall, api] of [
      ['Firewall', 'ApiRest'],
      ['WebFirewall', 'WebApiRest'],
    ] as const) {
      const association = prod.one('AWS::WAFv2::WebACLAssociation', firewall).Properties
      expect(JSON.stringify(association.ResourceArn)).toContain(`"${api}DeploymentStage`)
      expect(prod.referred(association.WebACLArn).Type).toBe('AWS::WAFv2::WebACL')
    }
  })

  it('hands the trusted proxies to the functions and to the firewall', async () => {
    const proxied = await synthesized('staging', { addresses: { trustedProxies: ['203.0.113.0/24'] } })
    const { TRUSTED_PROXIES } = functionsOf(proxied, 'staging').get('auth')?.Properties.Environment.Variables ?? {}
    expect(TRUSTED_PROXIES).toBe('203.0.113.0/24')
    const sets = proxied.ofType('AWS::WAFv2::IPSet').map(({ Properties }) => Properties)
    expect(sets.map(({ Addresses }) => Addresses)).toEqual([['203.0.113.0/24'], ['203.0.113.0/24']])
    expect(new Set(sets.map(({ Name }) => Name)).size).toBe(2)
  })
})
