import { Duration } from 'aws-cdk-lib'
import {
  GatewayResponse,
  IdentitySource,
  type IRestApi,
  RequestAuthorizer,
  type RequestAuthorizerProps,
  ResponseType,
} from 'aws-cdk-lib/aws-apigateway'
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { Construct } from 'constructs'
import {
  AUTHORIZER_RESPONSES,
  type AuthorizerFailure,
  GATEWAY_RESPONSES,
  type GatewayFailure,
  gatewayResponse,
} from './gateway.ts'
import { errorResponse } from './aws/api-definition.ts'
import { stageParameter } from './stage-parameters.ts'

type Name = Parameters<typeof stageParameter>[1]

/** A stage of Tenantry in the same Region, for the CDK app of another service. */
export class Tenantry extends Construct {
  readonly #read: (name: Name) => string
  #eventBus: IEventBus | null = null

  private constructor(scope: Construct, stage: string, read: (name: Name) => string) {
    super(scope, `Tenantry-${stage}`)
    this.#read = read
  }

  /** Returns a stage of the same account. It deploys nothing, and reads the names of the stage when the app is deployed. */
  static fromStage(scope: Construct, stage: string): Tenantry {
    const known = scope.node.tryFindChild(`Tenantry-${stage}`)
    if (known instanceof Tenantry) return known
    return new Tenantry(scope, stage, (name) =>
      StringParameter.valueForStringParameter(scope, stageParameter(stage, name)),
    )
  }

  /**
   * Returns a stage of another account, by its outputs `AuthorizeFunction`, `EventBus`, `OpenCredentialFunction` and
   * `ProblemBaseUrl`. Its cdk.json names the account of the app among `serviceAccounts`.
   */
  static fromOutputs(
    scope: Construct,
    stage: string,
    outputs: { authorizeFunction: string; eventBus: string; openCredentialFunction: string; problemBaseUrl: string },
  ): Tenantry {
    const values: Readonly<Record<Name, string>> = {
      'authorize-function-arn': outputs.authorizeFunction,
      'event-bus-name': outputs.eventBus,
      'open-credential-function-arn': outputs.openCredentialFunction,
      'problem-base-url': outputs.problemBaseUrl,
    }
    return new Tenantry(scope, stage, (name) => values[name])
  }

  /** The ARN of the alias of `authorize`. */
  get authorizeFunctionArn(): string {
    return this.#read('authorize-function-arn')
  }

  /** The beginning of the `type` of a problem. */
  get problemBaseUrl(): string {
    return this.#read('problem-base-url')
  }

  /** The bus of the events of the stage, for rules. CloudFormation takes the ARN of a bus of another account in place of a name. */
  get eventBus(): IEventBus {
    this.#eventBus ??= EventBus.fromEventBusName(this, 'EventBus', this.#read('event-bus-name'))
    return this.#eventBus
  }

  /** Lets a function ask for decisions, and sets the environment that the guard reads. */
  grantAuthorize(fn: LambdaFunction): void {
    allowInvoke(fn, this.authorizeFunctionArn)
    fn.addEnvironment('TENANTRY_AUTHORIZE_FUNCTION', this.authorizeFunctionArn)
    fn.addEnvironment('TENANTRY_PROBLEM_BASE_URL', this.problemBaseUrl)
  }

  /**
   * Lets a function open credentials of vendors, as TENANTRY_OPEN_CREDENTIAL_FUNCTION. `service` is the name under which
   * Tenantry's cdk.json names the role of the function (`credentialCallers`), and the audit log of the tenant.
   */
  grantOpenCredential(fn: LambdaFunction, service: string): void {
    const arn = `${this.#read('open-credential-function-arn')}:${service}`
    allowInvoke(fn, arn)
    fn.addEnvironment('TENANTRY_OPEN_CREDENTIAL_FUNCTION', arn)
  }
}

const allowInvoke = (fn: LambdaFunction, arn: string): void =>
  fn.addToRolePolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [arn] }))

/**
 * The REST API's authorizer of the type REQUEST: only members of a tenant get past it. It passes the principal on as JSON in
 * `requestContext.authorizer.principal`. No result is kept, so a revocation holds from the next request on. It also gives the
 * API the error responses of Tenantry: 401 with `WWW-Authenticate`, and 503 with `Retry-After` while Tenantry does not decide.
 */
export class TenantryAuthorizer extends RequestAuthorizer {
  constructor(scope: Construct, id: string, { tenantry, restApi }: { tenantry: Tenantry; restApi: IRestApi }) {
    const arn = tenantry.authorizeFunctionArn
    const assumeRole = new Role(scope, `${id}Role`, {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: 'Asks Tenantry for decisions',
    })
    const handler = LambdaFunction.fromFunctionAttributes(scope, `${id}Function`, {
      functionArn: arn,
      sameEnvironment: false,
    })
    super(scope, id, { handler, assumeRole, ...AUTHORIZER })
    for (const failure of Object.keys(RESPONSES) as (GatewayFailure | AuthorizerFailure)[]) {
      const { statusCode, responseParameters, responseTemplates } = errorResponse(
        gatewayResponse(failure, { requestId: '$context.requestId', problemBaseUrl: tenantry.problemBaseUrl }),
      )
      const headers = Object.entries(responseParameters).map(([name, value]) => [name.replace(HEADER, ''), value])
      new GatewayResponse(this, failure, {
        restApi,
        type: ResponseType.of(failure),
        statusCode,
        responseHeaders: Object.fromEntries(headers),
        templates: responseTemplates,
      })
    }
  }
}

const HEADER = 'gatewayresponse.header.'

const RESPONSES = { ...GATEWAY_RESPONSES, ...AUTHORIZER_RESPONSES }

const AUTHORIZER = {
  identitySources: [IdentitySource.header('Authorization')],
  resultsCacheTtl: Duration.seconds(0),
} satisfies Partial<RequestAuthorizerProps>
