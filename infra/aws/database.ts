import { Duration, RemovalPolicy } from 'aws-cdk-lib'
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
import { CfnApplication } from 'aws-cdk-lib/aws-sam'
import { type ISecret, SecretRotation, SecretRotationApplication } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct, type IConstruct } from 'constructs'
import type { Stage } from '#infra/stages.ts'
import { SERVICE_ROLES, type ServiceRole } from '#shared/base/needs.ts'
import type { Keys } from './keys.ts'
import { logGroup, type LogKeeping } from './logs.ts'

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
  /** By role name without `identity_`, and `owner`. */
  readonly secrets: ReadonlyMap<string, ISecret>
  /** Must exist before anything connects. Not the whole cluster: the rotations are below that. */
  readonly writer: IConstruct
  /** The proxy's host name, where the stage has one. */
  readonly proxyHost: string | null
  /** The names of the functions that rotate passwords. */
  readonly rotations: string[] = []
  private readonly vpc: Vpc

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
    this.vpc = vpc
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

  /**
   * Rotates every password monthly, with the function that AWS publishes for this. Requires `after`: the roles cannot log in
   * before it.
   */
  rotate(after: IConstruct, logs: LogKeeping): void {
    for (const [role, secret] of this.secrets) {
      const rotation = new SecretRotation(this, `Rotation-${role}`, {
        application: SecretRotationApplication.POSTGRES_ROTATION_SINGLE_USER,
        secret,
        target: this.cluster,
        vpc: this.vpc,
        vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
        automaticallyAfter: ROTATED_EVERY,
        rotateImmediatelyOnUpdate: false,
        excludeCharacters: EXCLUDED,
      })
      rotation.node.addDependency(after)
      const functionName = rotatingFunction(rotation)
      // Otherwise the function creates it, unencrypted and without expiry.
      const group = logGroup(this, `RotationLogs-${role}`, logs, `/aws/lambda/${functionName}`)
      rotation.node.addDependency(group)
      this.rotations.push(functionName)
    }
  }
}

/** Returns the name of the function that AWS's application makes. */
function rotatingFunction(rotation: SecretRotation): string {
  for (const each of rotation.node.findAll()) {
    const parameters = each instanceof CfnApplication ? each.parameters : undefined
    if (parameters !== undefined && 'functionName' in parameters && parameters.functionName !== undefined)
      return parameters.functionName
  }
  throw new Error('a rotation names no function')
}

/** Makes a new cluster begin with a snapshot, which brings the database. The owner gets the password of the new secret. */
function beginWith({ node: { defaultChild } }: DatabaseCluster, snapshot: string): void {
  if (!(defaultChild instanceof CfnDBCluster)) throw new Error('the cluster has no CfnDBCluster')
  defaultChild.snapshotIdentifier = snapshot
  defaultChild.databaseName = undefined
}
