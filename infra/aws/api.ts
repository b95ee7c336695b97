import { Size, Stack } from 'aws-cdk-lib'
import {
  AccessLogField,
  AccessLogFormat,
  ApiDefinition,
  CfnRestApi,
  EndpointType,
  LogGroupLogDestination,
  MethodLoggingLevel,
  SecurityPolicy,
  SpecRestApi,
  EndpointAccessMode,
} from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Construct } from 'constructs'
import type { Stage } from '#infra/stages.ts'
import type { GatewayFailure, GatewayResponse } from '#infra/gateway.ts'
import { type DeployedFrontEnd, pagePaths } from '#infra/route-groups.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import type { Addresses } from './addresses.ts'
import { apiDefinition } from './api-definition.ts'
import type { TenantryFunction } from './function.ts'
import { type LogKeeping, logGroup } from './logs.ts'

/** A domain name with its certificate. Null: none. */
type Domain = NonNullable<Addresses['apiDomain']> | null

/** API Gateway's own name of its only stage. */
export const STAGE_NAME = 'api'
const FALLBACK_GROUP = 'not-found'

// The access log never contains an IP address, a path with ids or names, a header or a query.
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

/** What a REST API serves. */
export interface ApiRoutes {
  /** The function of each path. */
  readonly functions: ReadonlyMap<string, TenantryFunction>
  /** The methods with the limit of sign-ins, as `PATH/METHOD`. */
  readonly signIns: readonly string[]
  /** Returns an error response of API Gateway itself. */
  readonly failure: (failure: GatewayFailure, requestId: string) => GatewayResponse
}

/** A REST API, with an access log and a domain of its own. */
export class Api extends Construct {
  readonly rest: SpecRestApi
  /** CloudWatch's name of it. */
  readonly apiName: string

  constructor(
    scope: Construct,
    id: string,
    props: {
      name: string
      routes: ApiRoutes
      throttle: Stage['throttle']
      domain: Domain
      /** Whether API Gateway also serves it at an address of its own. */
      ownAddress: boolean
      /** The size from which API Gateway compresses a response. Null: it compresses none. */
      compressionFromBytes: number | null
      /** Whether it sets the role with which all APIs of the account write logs. One of them does. */
      cloudWatchRole: boolean
      accessLog: string
      logs: LogKeeping
    },
  ) {
    super(scope, id)
    const {
      name: restApiName,
      routes,
      domain,
      ownAddress,
      compressionFromBytes,
      cloudWatchRole,
      accessLog,
      logs,
    } = props
    this.apiName = restApiName
    const { partition, region } = Stack.of(this)
    // Never set dataTraceEnabled: it logs bodies, which contain passwords. Metrics of each method cost 0.30 USD a month each,
    // and no alarm or graph reads them. Those of the stage are free.
    const logged = { loggingLevel: MethodLoggingLevel.ERROR, metricsEnabled: false }
    const functionArns = new Map([...routes.functions].map(([path, { live }]) => [path, live.functionArn] as const))
    // A permission of each function would cost a resource each.
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: `The API ${restApiName}`,
      inlinePolicies: {
        functions: new PolicyDocument({
          statements: [
            new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [...new Set(functionArns.values())] }),
          ],
        }),
      },
    })
    this.rest = new SpecRestApi(this, 'Rest', {
      restApiName,
      apiDefinition: ApiDefinition.fromInline(
        apiDefinition(restApiName, {
          functionArns,
          credentials: role.roleArn,
          failure: routes.failure,
          aws: { partition, region },
        }),
      ),
      ...(compressionFromBytes === null ? {} : { minCompressionSize: Size.bytes(compressionFromBytes) }),
      endpointTypes: [EndpointType.REGIONAL],
      disableExecuteApiEndpoint: !ownAddress,
      cloudWatchRole,
      deployOptions: {
        stageName: STAGE_NAME,
        ...logged,
        ...throttle(props.throttle),
        // Settings of a method replace all of those above.
        methodOptions: Object.fromEntries(
          routes.signIns.map((method) => [method, { ...logged, ...throttle(props.throttle.signIn) }]),
        ),
        // API Gateway's traces contain the client's IP address.
        tracingEnabled: false,
        accessLogDestination: new LogGroupLogDestination(logGroup(this, 'Access', logs, accessLog)),
        accessLogFormat: ACCESS_LOG,
      },
      ...(domain === null
        ? {}
        : {
            domainName: {
              domainName: domain.name,
              certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
              endpointType: EndpointType.REGIONAL,
              securityPolicy: SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
              // Refuses a request whose TLS handshake names another host.
              endpointAccessMode: EndpointAccessMode.STRICT,
            },
          }),
    })
    // SpecRestApi has no property for these yet.
    const { defaultChild } = this.rest.node
    if (!(defaultChild instanceof CfnRestApi)) throw new Error('the API has no CfnRestApi')
    defaultChild.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09
    defaultChild.endpointAccessMode = EndpointAccessMode.BASIC
    // Otherwise API Gateway creates it at the first error, unencrypted and without expiry.
    logGroup(this, 'Execution', logs, `API-Gateway-Execution-Logs_${this.rest.restApiId}/${STAGE_NAME}`)
  }
}

const throttle = ({ rate, burst }: { rate: number; burst: number }) => ({
  throttlingRateLimit: rate,
  throttlingBurstLimit: burst,
})

/**
 * Returns the methods that anyone may call and that do not only read, as `PATH/METHOD`. API Gateway keeps a setting for each
 * method of HTTP, also where the path has one method ANY.
 */
const signInMethods = (groups: readonly { group: RouteGroup }[]): string[] =>
  groups
    .flatMap(({ group }) => group.endpoints)
    .filter(({ access, method }) => access === 'anyone' && method !== 'GET')
    .map(({ path, method }) => `${path}/${method}`)

/** The API of the route groups. Each of their paths leads to the group's function, and every other path to `not-found`. */
export const groupRoutes = (
  groups: readonly { group: RouteGroup; made: TenantryFunction }[],
  failure: ApiRoutes['failure'],
): ApiRoutes => ({ functions: new Map(pathsOf(groups)), signIns: signInMethods(groups), failure })

/** The API of the front end. Every path leads to its function. */
export const pageRoutes = (
  pages: DeployedFrontEnd['pages'],
  made: TenantryFunction,
  failure: ApiRoutes['failure'],
): ApiRoutes => ({
  functions: new Map(['/', ...pagePaths(pages)].map((path) => [path, made])),
  signIns: openForms(pages).map((path) => `${path}/POST`),
  failure,
})

/** Returns the paths of the forms that need no session. */
export const openForms = (pages: DeployedFrontEnd['pages']): string[] =>
  pages
    .filter(({ access, method }) => (access === 'anyone' || access === 'link') && method === 'POST')
    .map(({ path }) => path)

/** Returns every path with its group's function. */
function pathsOf(groups: readonly { group: RouteGroup; made: TenantryFunction }[]): [string, TenantryFunction][] {
  const fallback = groups.find(({ group }) => group.name === FALLBACK_GROUP)?.made
  if (fallback === undefined) throw new Error(`no route group is named ${FALLBACK_GROUP}`)
  return [
    ...groups.flatMap(({ group, made }) => group.endpoints.map(({ path }): [string, TenantryFunction] => [path, made])),
    // API Gateway treats an unknown path as a request without a signature, and repeats its bearer token in the response. So
    // every other path is routed to a function, which answers 404 before it connects to anything.
    ['/', fallback],
    ['/{proxy+}', fallback],
  ]
}
