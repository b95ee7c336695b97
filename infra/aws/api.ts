import { Duration } from 'aws-cdk-lib'
import {
  AccessLogField,
  AccessLogFormat,
  CfnRestApi,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  ResponseType,
  RestApi,
  SecurityPolicy,
  EndpointAccessMode,
} from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { Construct } from 'constructs'
import { type GatewayFailure, GATEWAY_RESPONSES, gatewayResponse, INTEGRATION_TIMEOUT_MS } from '#infra/gateway.ts'
import type { Stage } from '#infra/stages.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import type { Addresses } from './addresses.ts'
import type { TenantryFunction } from './function.ts'
import { type LogKeeping, logGroup } from './logs.ts'

const STAGE_NAME = 'api'
const FALLBACK_GROUP = 'not-found'

// The access log never contains an IP address, a path with ids, a header or a query.
const ACCESS_LOG = AccessLogFormat.custom(
  JSON.stringify({
    request_id: AccessLogField.contextRequestId(),
    time: AccessLogField.contextRequestTimeEpoch(),
    method: AccessLogField.contextHttpMethod(),
    resource: AccessLogField.contextResourcePath(),
    status: AccessLogField.contextStatus(),
    latency_ms: AccessLogField.contextResponseLatency(),
    integration_status: AccessLogField.contextIntegrationStatus(),
    integration_latency_ms: AccessLogField.contextIntegrationLatency(),
    bytes: AccessLogField.contextResponseLength(),
    error: AccessLogField.contextErrorResponseType(),
    waf: AccessLogField.contextWafStatus(),
    trace: AccessLogField.contextXrayTraceId(),
  }),
)

/**
 * The REST API. Each path of the route groups has one ANY method, so that the function answers a wrong method with 405. The
 * gateway's own error responses have the same shape as the functions'.
 */
export class Api extends Construct {
  readonly rest: RestApi

  constructor(
    scope: Construct,
    id: string,
    props: {
      groups: readonly { group: RouteGroup; made: TenantryFunction }[]
      stage: string
      config: Stage
      addresses: Addresses
      problemBaseUrl: string
      logs: LogKeeping
    },
  ) {
    super(scope, id)
    const { groups, stage, config, addresses, problemBaseUrl, logs } = props
    const { apiDomain } = addresses
    this.rest = new RestApi(this, 'Rest', {
      restApiName: `tenantry-${stage}`,
      endpointTypes: [EndpointType.REGIONAL],
      disableExecuteApiEndpoint: apiDomain !== undefined,
      cloudWatchRole: true,
      deployOptions: {
        stageName: STAGE_NAME,
        throttlingRateLimit: config.throttle.rate,
        throttlingBurstLimit: config.throttle.burst,
        // Metrics of each method cost 0.30 USD a month each, and no alarm or graph reads them. Those of the stage are free.
        metricsEnabled: false,
        // API Gateway's traces contain the client's IP address. The functions' own traces start behind it.
        tracingEnabled: false,
        // Never set dataTraceEnabled: it logs bodies, which contain passwords.
        loggingLevel: MethodLoggingLevel.ERROR,
        accessLogDestination: new LogGroupLogDestination(logGroup(this, 'Access', logs, `/tenantry/${stage}/access`)),
        accessLogFormat: ACCESS_LOG,
      },
      ...(apiDomain === undefined
        ? {}
        : {
            domainName: {
              domainName: apiDomain.name,
              certificate: Certificate.fromCertificateArn(this, 'Certificate', apiDomain.certificateArn),
              endpointType: EndpointType.REGIONAL,
              securityPolicy: SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
              endpointAccessMode: EndpointAccessMode.BASIC,
            },
          }),
    })
    // RestApi has no property for these yet.
    const { defaultChild } = this.rest.node
    if (!(defaultChild instanceof CfnRestApi)) throw new Error('the RestApi has no CfnRestApi')
    defaultChild.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09
    defaultChild.endpointAccessMode = EndpointAccessMode.BASIC
    // Otherwise API Gateway creates it at the first error, unencrypted and without expiry.
    logGroup(this, 'Execution', logs, `API-Gateway-Execution-Logs_${this.rest.restApiId}/${STAGE_NAME}`)

    const integrations = new Map(
      groups.map(({ group, made }) => [
        group.name,
        new LambdaIntegration(made.function, {
          timeout: Duration.millis(INTEGRATION_TIMEOUT_MS),
          allowTestInvoke: false,
        }),
      ]),
    )
    for (const { group } of groups) {
      for (const path of new Set(group.endpoints.map(({ path }) => path))) {
        this.rest.root.resourceForPath(path).addMethod('ANY', integrations.get(group.name))
      }
    }
    // API Gateway treats an unknown path as a request without a signature, and repeats its bearer token in the response. So
    // every other path is routed to a function, which answers 404 before it connects to anything.
    const fallback = integrations.get(FALLBACK_GROUP)
    if (fallback === undefined) throw new Error(`no route group is named ${FALLBACK_GROUP}`)
    this.rest.root.addMethod('ANY', fallback)
    this.rest.root.addResource('{proxy+}').addMethod('ANY', fallback)
    for (const failure of Object.keys(GATEWAY_RESPONSES) as GatewayFailure[])
      this.addErrorResponse(failure, problemBaseUrl)
  }

  /** Adds one of API Gateway's error responses. API Gateway fills in the request id. */
  private addErrorResponse(failure: GatewayFailure, problemBaseUrl: string): void {
    const { status, headers, body } = gatewayResponse(failure, { requestId: '$context.requestId', problemBaseUrl })
    this.rest.addGatewayResponse(failure, {
      type: ResponseType.of(failure),
      statusCode: String(status),
      responseHeaders: gatewayHeaders(headers, 'context.requestId'),
      templates: { 'application/json': body },
    })
  }
}

/** Writes headers in API Gateway's syntax: text in quotes, a variable without. Quotes within the text stay as they are. */
const gatewayHeaders = (headers: Readonly<Record<string, string>>, requestId: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name === 'x-request-id' ? requestId : `'${value}'`]),
  )
