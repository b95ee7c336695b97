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
const ANSWERS_OTHER_PATHS = 'health'

// What an access log says of a request: never an address, a path with ids, a header or a query.
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
 * The REST API: one ANY for each path of the route groups, so that a wrong method is answered by the function; and every
 * failure that the gateway makes itself in the shape of the functions' own.
 */
export class Api extends Construct {
  readonly rest: RestApi

  constructor(
    scope: Construct,
    id: string,
    props: {
      groups: readonly { group: RouteGroup; made: TenantryFunction }[]
      stage: string
      numbers: Stage
      addresses: Addresses
      problemBaseUrl: string
      logs: LogKeeping
    },
  ) {
    super(scope, id)
    const { groups, stage, numbers, addresses, problemBaseUrl, logs } = props
    const { apiDomain } = addresses
    this.rest = new RestApi(this, 'Rest', {
      restApiName: `tenantry-${stage}`,
      endpointTypes: [EndpointType.REGIONAL],
      disableExecuteApiEndpoint: apiDomain !== undefined,
      cloudWatchRole: true,
      deployOptions: {
        stageName: STAGE_NAME,
        throttlingRateLimit: numbers.throttle.rate,
        throttlingBurstLimit: numbers.throttle.burst,
        metricsEnabled: true,
        // API Gateway's traces hold the client's address; the functions' own begin behind it.
        tracingEnabled: false,
        // Never dataTraceEnabled: it writes bodies, and so passwords, into the log.
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
    // RestApi has no property for it yet.
    const { defaultChild } = this.rest.node
    if (!(defaultChild instanceof CfnRestApi)) throw new Error('the API has no resource')
    defaultChild.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09
    defaultChild.endpointAccessMode = EndpointAccessMode.BASIC
    // Made here, or API Gateway makes it at the first error, unencrypted and for ever.
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
    // A path that is no route API Gateway takes for one that wants a signature, and to a bearer token it says so by
    // repeating the token. So every other path is a route, of a function that answers 404 before it opens anything.
    const others = integrations.get(ANSWERS_OTHER_PATHS)
    if (others === undefined) throw new Error(`there is no route group ${ANSWERS_OTHER_PATHS}`)
    this.rest.root.addMethod('ANY', others)
    this.rest.root.addResource('{proxy+}').addMethod('ANY', others)
    for (const failure of Object.keys(GATEWAY_RESPONSES) as GatewayFailure[]) this.answer(failure, problemBaseUrl)
  }

  /** The template and the headers of a failure; the request's id is written as API Gateway's variable. */
  private answer(failure: GatewayFailure, problemBaseUrl: string): void {
    const { status, headers, body } = gatewayResponse(failure, { requestId: '$context.requestId', problemBaseUrl })
    this.rest.addGatewayResponse(failure, {
      type: ResponseType.of(failure),
      statusCode: String(status),
      responseHeaders: literal(headers, 'context.requestId'),
      templates: { 'application/json': body },
    })
  }
}

/** Headers as API Gateway takes them: text in quotes, and a variable bare. */
const literal = (headers: Readonly<Record<string, string>>, requestId: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name === 'x-request-id' ? requestId : `'${value}'`]),
  )
