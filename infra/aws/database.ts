import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { type ISecurityGroup, Port, SecurityGroup, SubnetType, type Vpc } from 'aws-cdk-lib/aws-ec2'
import {
  AuroraPostgresEngineVersion,
  CfnDBCluster,
  ClientPasswordAuthType,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
  DatabaseInsightsMode,
  DatabaseProxy,
  DatabaseSecret,
  ProxyTarget,
} from 'aws-cdk-lib/aws-rds'
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { CfnPermission, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnRotationSchedule, type ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct, type IConstruct } from 'constructs'
import type { Stage } from '#infra/stages.ts'
import { SERVICE_ROLES, type ServiceRole } from '#shared/base/needs.ts'
import type { Keys } from './keys.ts'

const NAME = 'tenantry'
const ROTATED_EVERY = Duration.days(30)
const INSIGHTS_MIN_CAPACITY = 2
// UTC. At night in America, and outside every maintenance window.
const BACKUP_WINDOW = '06:00-07:00'
// Neither generated nor rotated passwords contain these.
const EXCLUDED = ' %+~`#$&*()|[]{}:;<>?!\'/@"\\,=^'

/** Aurora PostgreSQL Serverless v2, reachable only from the functions, and a secret for each login role. */
export class Database extends Construct {
  readonly cluster: DatabaseCluster
  /** The secret of the login that migrates. */
  readonly owner: ISecret
  /** By role name without `identity_`, and `owner`. */
  readonly secrets: ReadonlyMap<string, ISecret>
  /** Must exist before anything connects. Not the whole cluster: the rotations are below that. */
  readonly writer: IConstruct
  /** The proxy's host name, where the stage has one. */
  readonly proxyHost: string | null

  constructor(
    scope: Construct,
    id: string,
    props: {
      vpc: Vpc
      clients: ISecurityGroup
      keys: Keys
      launched: boolean
      config: Stage['database']
      restoreFrom: string | undefined
    },
  ) {
    super(scope, id)
    const { vpc, clients, keys, launched, config, restoreFrom } = props
    const engine = DatabaseClusterEngine.auroraPostgres({ version: AuroraPostgresEngineVersion.VER_17_9 })
    // The needed capacity: https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora-serverless-v2.setting-capacity.html
    const insights =
      config.minCapacity < INSIGHTS_MIN_CAPACITY
        ? {}
        : { enablePerformanceInsights: true, performanceInsightEncryptionKey: keys.database }
    const instance = {
      ...insights,
      autoMinorVersionUpgrade: config.minorUpgrades,
      preferredMaintenanceWindow: config.maintenance,
    }
    const vpcSubnets = { subnetType: SubnetType.PRIVATE_ISOLATED }
    const securityGroupFor = (name: string, description: string) =>
      new SecurityGroup(this, name, { vpc, description, allowAllOutbound: false })
    this.cluster = new DatabaseCluster(this, 'Cluster', {
      engine,
      vpc,
      vpcSubnets,
      securityGroups: [securityGroupFor('SecurityGroup', 'Database: inbound from the functions')],
      credentials: Credentials.fromGeneratedSecret(`${NAME}_owner`, {
        encryptionKey: keys.service,
        excludeCharacters: EXCLUDED,
      }),
      defaultDatabaseName: NAME,
      serverlessV2MinCapacity: config.minCapacity,
      serverlessV2MaxCapacity: config.maxCapacity,
      writer: ClusterInstance.serverlessV2('Writer', instance),
      readers: Array.from({ length: config.readers }, (_, index) =>
        ClusterInstance.serverlessV2(`Reader${index + 1}`, { ...instance, scaleWithWriter: true }),
      ),
      ...insights,
      databaseInsightsMode: DatabaseInsightsMode.STANDARD,
      preferredMaintenanceWindow: config.maintenance,
      // Logs and statistics contain no values: no statements of success, no details of errors, which name email addresses,
      // and no statistics of ALTER ROLE, which Postgres stores with its password.
      parameters: {
        'rds.force_ssl': '1',
        log_statement: 'none',
        log_min_duration_statement: '-1',
        log_error_verbosity: 'terse',
        'pg_stat_statements.track_utility': '0',
        // Functions fix their plans by settings that make every other plan look expensive. Postgres would compile such a plan at
        // each execution, for longer than it runs.
        jit: '0',
        // A statement whose client is gone ends, and gives its locks back.
        client_connection_check_interval: '1000',
      },
      storageEncrypted: true,
      storageEncryptionKey: keys.database,
      backup: { retention: Duration.days(config.backupDays), preferredWindow: BACKUP_WINDOW },
      copyTagsToSnapshot: true,
      deletionProtection: config.keep && launched,
      removalPolicy: config.keep ? RemovalPolicy.SNAPSHOT : RemovalPolicy.DESTROY,
    })
    if (restoreFrom !== undefined) beginWith(this.cluster, restoreFrom)
    this.writer = this.cluster.node.findChild('Writer')
    const { secret: owner } = this.cluster
    if (owner === undefined) throw new Error('the cluster generated no secret for its owner')
    this.owner = owner
    const role = (name: ServiceRole): ISecret =>
      new DatabaseSecret(this, `Role-${name}`, {
        username: `identity_${name}`,
        dbname: NAME,
        encryptionKey: keys.service,
        excludeCharacters: EXCLUDED,
      }).attach(this.cluster)
    this.secrets = new Map([['owner', owner], ...SERVICE_ROLES.map((name) => [name, role(name)] as const)])

    if (!config.proxy) {
      this.cluster.connections.allowDefaultPortFrom(clients)
      this.proxyHost = null
      return
    }
    const proxy = new DatabaseProxy(this, 'Proxy', {
      proxyTarget: ProxyTarget.fromCluster(this.cluster),
      secrets: [...this.secrets.values()].filter((secret) => secret !== owner),
      clientPasswordAuthType: ClientPasswordAuthType.POSTGRES_SCRAM_SHA_256,
      requireTLS: true,
      vpc,
      vpcSubnets,
      securityGroups: [
        securityGroupFor('ProxySecurityGroup', 'Proxy: inbound from the functions, outbound to the database'),
      ],
    })
    proxy.connections.allowFrom(clients, Port.POSTGRES)
    // Migrations bypass the proxy, which would lose their advisory lock.
    this.cluster.connections.allowDefaultPortFrom(clients)
    this.proxyHost = proxy.endpoint
  }

  /** Lets a role read and replace every login's secret. */
  grantRotation(role: IRole): void {
    const secrets = [...this.secrets.values()]
    for (const secret of secrets) secret.grantRead(role)
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['secretsmanager:PutSecretValue', 'secretsmanager:UpdateSecretVersionStage'],
        resources: secrets.map(({ secretArn }) => secretArn),
      }),
    )
  }

  /** Has a function rotate every password monthly. Requires `after`: the roles cannot log in before it. */
  rotate(rotating: LambdaFunction, after: IConstruct): void {
    const permission = new CfnPermission(this, 'RotationPermission', {
      action: 'lambda:InvokeFunction',
      functionName: rotating.functionArn,
      principal: 'secretsmanager.amazonaws.com',
      sourceAccount: Stack.of(this).account,
    })
    for (const [role, secret] of this.secrets) {
      const schedule = new CfnRotationSchedule(this, `Rotation-${role}`, {
        secretId: secret.secretArn,
        rotationLambdaArn: rotating.functionArn,
        rotationRules: { scheduleExpression: `rate(${ROTATED_EVERY.toDays()} days)` },
        rotateImmediatelyOnUpdate: false,
      })
      schedule.node.addDependency(after, permission)
    }
  }
}

/** Makes a new cluster begin with a snapshot, which brings the database. The owner gets the password of the new secret. */
function beginWith({ node: { defaultChild } }: DatabaseCluster, snapshot: string): void {
  if (!(defaultChild instanceof CfnDBCluster)) throw new Error('the cluster has no CfnDBCluster')
  defaultChild.snapshotIdentifier = snapshot
  defaultChild.databaseName = undefined
}
