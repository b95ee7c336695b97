import { describe, expect, it } from 'vitest'
import { GATEWAY_RESPONSES, type GatewayFailure, pageResponse } from '#infra/gateway.ts'
import { pagePaths } from '#infra/route-groups.ts'
import { STAGES } from '#infra/stages.ts'
import { aliased, functionsOf, other, prod, site } from './two-stages.ts'

describe('the API of the front end', () => {
  const definition = () => prod.one('AWS::ApiGateway::RestApi', 'WebApiRest').Properties.Body

  it('routes the path of each page, and every other path, to the function of the front end', () => {
    const { paths: made } = definition()
    expect(Object.keys(made).toSorted()).toEqual(pagePaths(site.pages).toSorted())
    const uris = Object.values<any>(made).map(
      (methods) => methods['x-amazon-apigateway-any-method']['x-amazon-apigateway-integration'].uri,
    )
    expect(new Set(uris.map((uri) => JSON.stringify(uri))).size).toBe(1)
    const target = uris[0]['Fn::Join'][1].find((part: any) => part.Ref?.startsWith('AWS::') === false)
    expect(aliased(prod, target)).toBe(functionsOf(prod, 'prod').get('web'))
  })

  it('is small pages where it fails itself, whatever the client accepts', () => {
    const made = definition()['x-amazon-apigateway-gateway-responses']
    for (const failure of Object.keys(GATEWAY_RESPONSES) as GatewayFailure[]) {
      const { status, headers, body } = pageResponse(failure, '$context.requestId')
      const { statusCode, responseParameters, responseTemplates } = made[failure]
      expect([statusCode, responseTemplates], failure).toEqual([String(status), { 'application/json': body }])
      expect(body).toMatch(/^<!doctype html>\n<html lang="en">[ -~]*<section lang="es"><h2>[ -~]*\n$/)
      for (const [name, value] of Object.entries(headers))
        expect(responseParameters[`gatewayresponse.header.${name}`]).toBe(
          name === 'x-request-id' ? 'context.requestId' : `'${value}'`,
        )
      expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    }
  })

  it('logs like the other API, and limits the forms that need no session like sign-ins', () => {
    const [api, web] = ['ApiRest', 'WebApiRest'].map((id) => prod.one('AWS::ApiGateway::Stage', id).Properties)
    expect(web.AccessLogSetting.Format).toBe(api.AccessLogSetting.Format)
    expect(web.MethodSettings[0]).toEqual(api.MethodSettings[0])
    const limited = web.MethodSettings.slice(1)
    expect(limited.map(({ HttpMethod, ResourcePath }: any) => `${HttpMethod} ${ResourcePath}`)).toContain(
      'POST /~1sign-in',
    )
    for (const { ThrottlingRateLimit } of limited) expect(ThrottlingRateLimit).toBe(STAGES.prod.throttle.signIn.rate)
  })

  it('is served at its own domain alone, because no link works at the address of API Gateway', () => {
    for (const stage of [prod, other])
      expect(stage.one('AWS::ApiGateway::RestApi', 'WebApiRest').Properties.DisableExecuteApiEndpoint).toBe(true)
    expect(other.one('AWS::ApiGateway::DomainName', 'WebApiRest').Properties).toMatchObject({
      DomainName: 'app.shop.test',
      EndpointAccessMode: 'STRICT',
    })
    expect(other.outputs.has('WebDomainTarget')).toBe(true)
    expect(prod.ofType('AWS::ApiGateway::Account')).toHaveLength(1)
  })
})
