import { dirname, join } from 'node:path'
import { Duration, Stack, Stage as Assembled } from 'aws-cdk-lib'
import { SubnetType } from 'aws-cdk-lib/aws-ec2'
import {
  AccountPrincipal,
  ArnPrincipal,
  Effect,
  type IRole,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam'
import {
  Alias,
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { reservedConcurrency, type Stage, VENDOR_URLS } from '#infra/stages.ts'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { databaseRole, type Need, SERVICE_ROLES } from '#shared/base/needs.ts'
import { bundle, type Bundled, SOURCE_MAPS } from './bundling.ts'
import type { Database } from './database.ts'
import type { Events } from './events.ts'
import type { Keys } from './keys.ts'
import { type LogKeeping, logGroup } from './logs.ts'
import type { Mail } from './mail.ts'
import type { Network } from './network.ts'
import type { Secrets } from './secrets.ts'

/** The parts of a stage that its functions may use. */
export interface FunctionContext {
  readonly stage: string
  readonly config: Stage
  readonly network: Network
  readonly keys: Keys
  readonly secrets: Secrets
  readonly database: Database
  readonly mail: Mail
  readonly events: Events
  readonly logs: LogKeeping
  readonly settings: Readonly<Record<string, string>>
}

// Lambda's file of Amazon's certificate authorities, which include those of RDS. Node does not read it by default.
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html
const AMAZON_CA_FILE = '/var/runtime/ca-cert.pem'

const BUNDLED_MIGRATIONS = '/var/task/migrations'

// Lambda uses the role for these when it attaches the function to the VPC. The function's own code is denied them.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
const NETWORK_INTERFACES = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
]

/** The Lambda `tenantry-STAGE-NAME`: its bundle, a role with only the grants that its needs imply, an encrypted log group. */
export class TenantryFunction extends Construct {
  readonly function: LambdaFunction
  /** What callers invoke. A release moves it to its version. */
  readonly live: Alias
  readonly functionName: string
  /** The aliases of the services that may invoke it. */
  readonly services: Alias[] = []

  constructor(
    scope: Construct,
    context: FunctionContext,
    props: {
      kind: 'group' | 'worker'
      name: string
      needs: readonly Need[]
      /** The route groups whose functions it invokes, as API Gateway does. */
      calls?: readonly string[]
      handlerFile: string
      timeoutSeconds: number
      deadLetterQueue?: IQueue
    },
  ) {
    super(scope, props.name)
    const { stage, config, network, logs, settings } = context
    const { kind, name, needs, calls = [], handlerFile, timeoutSeconds, deadLetterQueue } = props
    const { memoryMib } = config
    const concurrency = reservedConcurrency(config, kind, name)
    this.functionName = `${functionPrefix(stage)}${name}`
    const group = logGroup(this, 'Logs', logs, `/tenantry/${stage}/${name}`)
    // What reaches only AWS and the internet needs no NAT.
    const connects = databaseRole(needs) !== null || needs.includes('password-rotation')
    const role = this.role(connects)
    group.grantWrite(role)
    for (const group of calls) grantInvoke(role, `${functionPrefix(stage)}${group}`)
    this.function = new LambdaFunction(this, 'Function', {
      functionName: this.functionName,
      code: this.code({ handlerFile, needs }),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMib[name] ?? memoryMib.default,
      timeout: Duration.seconds(timeoutSeconds),
      ...(concurrency === null ? {} : { reservedConcurrentExecutions: concurrency }),
      ...(deadLetterQueue === undefined ? {} : { deadLetterQueue }),
      role,
      logGroup: group,
      tracing: config.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      // Lambda's own lines START, END and REPORT of each invocation are left out; those of a failed one are not.
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
      ...(connects
        ? {
            vpc: network.vpc,
            vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
            securityGroups: [network.functions, ...(needs.includes('vault') ? [network.vendors] : [])],
          }
        : {}),
      environment: {
        NODE_ENV: 'production',
        FUNCTION_PREFIX: functionPrefix(stage),
        ...settings,
        ...grant(role, needs, context),
      },
    })
    this.live = new Alias(this, 'Live', {
      aliasName: LIVE_ALIAS,
      version: this.function.currentVersion,
      // No retries: the next scheduled run does the work. The queue keeps the event of a failed run.
      ...(deadLetterQueue === undefined ? {} : { retryAttempts: 0, maxEventAge: Duration.minutes(5) }),
    })
  }

  /** Lets a role invoke the function, by an alias that has the name of its service and that no other service may use. */
  allowService(service: string, roleArn: string): void {
    const { currentVersion: version } = this.function
    const alias = new Alias(this, `Service-${service}`, { aliasName: service, version })
    this.services.push(alias)
    alias.addPermission('Caller', { principal: new ArnPrincipal(roleArn), action: 'lambda:InvokeFunction' })
  }

  /** Lets other accounts invoke the function. Each of them decides which of its roles may. */
  allowAccounts(accounts: readonly string[]): void {
    for (const account of accounts)
      this.live.addPermission(`Account-${account}`, {
        principal: new AccountPrincipal(account),
        action: 'lambda:InvokeFunction',
      })
  }

  /** Returns the bundle. Of a stack that is not deployed, it returns the sources, which takes no time. */
  private code(bundled: Bundled): Code {
    const { bundlingRequired } = Stack.of(this)
    if (!bundlingRequired) return Code.fromAsset(dirname(bundled.handlerFile))
    return Code.fromAsset(bundle(bundled, join(Assembled.of(this)?.outdir ?? '', SOURCE_MAPS)))
  }

  private role(connects: boolean): Role {
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `The function ${this.functionName}`,
    })
    if (!connects) return role
    const { partition, region, account } = Stack.of(this)
    role.addToPolicy(new PolicyStatement({ actions: NETWORK_INTERFACES, resources: ['*'] }))
    role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: NETWORK_INTERFACES,
        resources: ['*'],
        conditions: {
          ArnEquals: {
            'lambda:SourceFunctionArn': ['', ':*'].map(
              (version) => `arn:${partition}:lambda:${region}:${account}:function:${this.functionName}${version}`,
            ),
          },
        },
      }),
    )
    return role
  }
}

/** The beginning of the name of every function of a stage. */
export const functionPrefix = (stage: string): string => `tenantry-${stage}-`

/** Lets a role invoke the live version of a function. */
function grantInvoke(role: IRole, functionName: string): void {
  const { partition, region, account } = Stack.of(role)
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [`arn:${partition}:lambda:${region}:${account}:function:${functionName}:${LIVE_ALIAS}`],
    }),
  )
}

/** Grants a role what its needs imply. Returns the environment variables that name the granted resources. */
function grant(role: IRole, needs: readonly Need[], context: FunctionContext): Record<string, string> {
  const { stage, keys, secrets, database, mail, events } = context
  const readable = (secret: ISecret | undefined): string => {
    if (secret === undefined) throw new Error('no secret exists for this need')
    secret.grantRead(role)
    return secret.secretArn
  }
  const signsInAs = databaseRole(needs)
  const tls = { DATABASE_TLS: 'verify-full', DATABASE_CA_FILE: AMAZON_CA_FILE }
  const direct = signsInAs === 'owner'
  if (needs.includes('vault'))
    keys.grantVault(role, ['generate', 'decrypt', ...(signsInAs === 'operator' ? (['rewrap'] as const) : [])])
  if (needs.includes('decrypt')) keys.grantVault(role, ['decrypt'])
  if (needs.includes('mail')) mail.grantSend(role)
  if (needs.includes('event-bus')) events.grantPublish(role)
  if (needs.includes('password-rotation')) database.grantRotation(role)
  // The action does not support resources.
  if (needs.includes('suppressions'))
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['ses:DeleteSuppressedDestination'], resources: ['*'] }))
  for (const need of needs)
    if (need.startsWith('invoke:')) grantInvoke(role, `${functionPrefix(stage)}${need.slice('invoke:'.length)}`)
  return {
    ...(signsInAs === null
      ? {}
      : {
          DATABASE_SECRET_ID: readable(database.secrets.get(signsInAs)),
          ...tls,
          ...(database.proxyHost === null || direct
            ? {}
            : { DATABASE_HOST: database.proxyHost, DATABASE_PREPARE: 'false' }),
        }),
    ...(needs.includes('password-rotation') ? tls : {}),
    ...(needs.includes('migrations') ? { MIGRATIONS_FOLDER: BUNDLED_MIGRATIONS } : {}),
    ...(needs.includes('role-passwords')
      ? { ROLE_SECRET_IDS: SERVICE_ROLES.map((name) => readable(database.secrets.get(name))).join() }
      : {}),
    ...(needs.includes('pepper') ? { PEPPER_SECRET_ID: readable(secrets.pepper) } : {}),
    ...(needs.includes('mail-key') ? { MAIL_KEY_SECRET_ID: readable(secrets.mailKey) } : {}),
    ...(needs.includes('factor-key') ? { FACTOR_KEY_SECRET_ID: readable(secrets.factorKey) } : {}),
    ...(needs.includes('web-key') ? { WEB_KEY_SECRET_ID: readable(secrets.webKey) } : {}),
    ...(needs.includes('probe-user') ? { PROBE_SECRET_ID: readable(secrets.probe) } : {}),
    ...(needs.includes('cache') ? { CACHE_SECRET_ID: readable(secrets.cache) } : {}),
    ...(needs.includes('vault')
      ? {
          VAULT_KEY_ID: keys.wrapping,
          VAULT_DATABASE_SECRET_ID: readable(database.secrets.get('vault')),
          VENDOR_URLS: JSON.stringify(VENDOR_URLS),
        }
      : {}),
    ...(needs.includes('mail') ? { MAIL_FROM: mail.from } : {}),
    ...(needs.includes('event-bus') ? { EVENT_BUS_NAME: events.bus.eventBusName } : {}),
  }
}
