import { Duration } from 'aws-cdk-lib'
import { type IMetric, MathExpression, Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { DatabaseProxy } from 'aws-cdk-lib/aws-rds'
import type { Stage } from '#infra/stages.ts'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { type DividedMetric, type MetricName, METRICS, type TotalMetric } from '#shared/base/metrics.ts'
import type { JobKind } from '#shared/queue/kinds.ts'
import { type Api, STAGE_NAME } from './api.ts'
import type { Database } from './database.ts'
import type { Events } from './events.ts'
import { MANAGED_RULES } from './firewall.ts'
import { functionPrefix, type TenantryFunction } from './function.ts'
import type { Workers } from './workers.ts'

/** The parts of a stage that alarms and the dashboard watch. */
export interface Watched {
  readonly stage: string
  readonly api: Api
  /** The API of the front end. */
  readonly webApi: Api
  readonly groups: readonly TenantryFunction[]
  readonly workers: Workers
  readonly database: Database
  readonly events: Events
  /** RDS Proxy, when the stage has it. */
  readonly proxy: DatabaseProxy | null
  readonly configurationSetName: string
  /** The certificates of the domains, by ARN. */
  readonly certificates: readonly string[]
  /** The vault of the daily backups, and whether they are copied to others. Null without `recovery`. */
  readonly backups: { readonly vaultName: string; readonly copied: boolean } | null
  readonly config: Pick<Stage['database'], 'maxCapacity' | 'minCapacity' | 'readers'> &
    Pick<Stage, 'canary'> & { readonly probesPages: boolean; readonly firewall: boolean }
}

const SERVICE = 'tenantry'
const AUTHORIZE_WORKER = 'authorize'
const OPEN_CREDENTIAL_WORKER = 'open-credential'
const HEALTH_GROUP = 'health'
// They answer without the database, mostly to scanners. Their throttles reach no other function.
const HARMLESS_GROUPS = new Set(['not-found', 'openapi'])
const ROTATION_WORKER = 'rotate-password'

/** Returns the CloudWatch metrics of a stage, our own and those of AWS, by what they mean. The default period is 5 minutes. */
export function stageMetrics({
  stage,
  api,
  webApi,
  groups,
  workers,
  database,
  events,
  proxy,
  configurationSetName,
  certificates,
  backups,
}: Watched) {
  const own = (name: TotalMetric, options: MetricOptions = {}): Metric =>
    new Metric({
      namespace: 'Tenantry',
      metricName: name,
      dimensionsMap: { service: SERVICE, stage },
      statistic: METRICS[name].unit === 'Count' ? Stats.SUM : Stats.MAXIMUM,
      ...options,
    })
  // Other services invoke them for their requests, as API Gateway invokes the groups.
  const authorize = workers.named(AUTHORIZE_WORKER)
  const openCredential = workers.named(OPEN_CREDENTIAL_WORKER)
  /** One line for each value of the metric's own dimension. */
  const ownEach = (name: DividedMetric): IMetric => {
    const { by, unit } = METRICS[name]
    const search = `{Tenantry,service,stage,${by}} MetricName="${name}" service="${SERVICE}" stage="${stage}"`
    const statistic = unit === 'Count' ? 'Sum' : 'Maximum'
    return new MathExpression({
      expression: `SEARCH('${search}', '${statistic}', 300)`,
      label: `${name} \${PROP('Dim.${by}')}`,
    })
  }
  const aws = (
    service: string,
    name: string,
    dimensionsMap: Record<string, string>,
    options: MetricOptions = {},
  ): Metric => new Metric({ namespace: `AWS/${service}`, metricName: name, dimensionsMap, ...options })
  const firewall = ({ apiName, rest }: Api, name: string, Rule = 'ALL') =>
    // WAF's metrics and dimensions: https://docs.aws.amazon.com/waf/latest/developerguide/waf-metrics.html
    aws(
      'WAFV2',
      name,
      { WebACL: `${apiName}-firewall`, Region: rest.stack.region, Rule },
      {
        statistic: Stats.SUM,
      },
    )
  // Each proxy host writes its own data points, so they are added up: https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/rds-proxy.monitoring.html
  const ofProxy = (name: string, { dbProxyName: ProxyName }: DatabaseProxy) =>
    aws('RDS', name, { ProxyName }, { statistic: Stats.SUM })
  /** By alias: errors of another version, which somebody invoked by hand, do not count. */
  const liveErrors = ({ functionName, node }: TenantryFunction) =>
    aws(
      'Lambda',
      'Errors',
      { FunctionName: functionName, Resource: `${functionName}:${LIVE_ALIAS}` },
      { statistic: Stats.SUM, period: Duration.minutes(1), label: node.id },
    )
  /** Returns the errors of a function without those that have this outcome. */
  const failedBeside = (errors: Metric, metricName: MetricName, outcome: string) =>
    new MathExpression({
      label: 'failed',
      expression: 'FILL(errors, 0) - FILL(meant, 0)',
      usingMetrics: {
        errors,
        meant: new Metric({
          namespace: 'Tenantry',
          metricName,
          dimensionsMap: { service: SERVICE, stage, outcome },
          statistic: Stats.SUM,
          period: Duration.minutes(1),
        }),
      },
      period: Duration.minutes(1),
    })
  // Names, not references: the aliases wait for the alarms of a release, and the API for the aliases.
  const ofApi = ({ apiName }: Api, name: string, statistic: string, label: string) =>
    aws('ApiGateway', name, { ApiName: apiName, Stage: STAGE_NAME }, { statistic, label })
  const served = (of: Api) => ({
    requests: ofApi(of, 'Count', Stats.SUM, 'requests'),
    serverErrors: ofApi(of, '5XXError', Stats.SUM, '5xx'),
    clientErrors: ofApi(of, '4XXError', Stats.SUM, '4xx'),
    latency: (statistic: string) => ofApi(of, 'Latency', statistic, statistic),
    blocked: firewall(of, 'BlockedRequests'),
    allowed: firewall(of, 'AllowedRequests'),
    /** What the rules refused that AWS maintains. */
    refused: MANAGED_RULES.map((rule) => firewall(of, 'BlockedRequests', `${of.apiName}-${rule}`)),
  })
  const backup = (name: string, vaultName: string, period: Duration) =>
    aws('Backup', name, { BackupVaultName: vaultName }, { statistic: Stats.SUM, period })
  return {
    own,
    ownEach,
    /** The age of the oldest job of a kind that waits, in seconds. */
    ageOf: (kind: JobKind) =>
      new Metric({
        namespace: 'Tenantry',
        metricName: 'QueueUndone' satisfies MetricName,
        dimensionsMap: { service: SERVICE, stage, kind },
        statistic: Stats.MAXIMUM,
        period: Duration.minutes(1),
      }),
    ...served(api),
    /** 5xx without the 503 of /health/ready, which tells a monitor of a dependency that requests can do without. */
    failed: new MathExpression({
      label: '5xx',
      expression: 'FILL(all, 0) - FILL(health, 0)',
      usingMetrics: {
        all: ofApi(api, '5XXError', Stats.SUM, '5xx'),
        health: new Metric({
          namespace: 'Tenantry',
          metricName: 'ServerError' satisfies MetricName,
          dimensionsMap: { service: SERVICE, stage, function: `${functionPrefix(stage)}${HEALTH_GROUP}` },
          statistic: Stats.SUM,
        }),
      },
    }),
    /** The same of the front end. */
    pages: served(webApi),
    duration: ({ function: lambda, node }: TenantryFunction, statistic: string) =>
      lambda.metricDuration({ statistic, label: `${node.id} ${statistic}` }),
    throttles: [...groups, authorize, openCredential].map(({ function: lambda, node }) =>
      lambda.metricThrottles({ label: node.id }),
    ),
    /** Those that people or services notice. */
    feltThrottles: [...groups, authorize, openCredential]
      .filter(({ node }) => !HARMLESS_GROUPS.has(node.id))
      .map(({ function: lambda, node }) => lambda.metricThrottles({ label: node.id })),
    failures: [...groups, ...workers.functions].map(({ function: lambda, node }) =>
      lambda.metricErrors({ label: node.id }),
    ),
    /** Without the errors by which `authorize` has API Gateway respond with 401. */
    failedDecisions: failedBeside(liveErrors(authorize), 'Authorized', 'thrown'),
    /** Without the errors that the caller has to mend. By function: each caller has an alias of its own. */
    failedOpenings: failedBeside(
      openCredential.function.metricErrors({ period: Duration.minutes(1) }),
      'CredentialOpened',
      'refused',
    ),
    concurrency: [...groups, authorize, openCredential].map(({ function: lambda, node }) =>
      lambda.metric('ConcurrentExecutions', { statistic: Stats.MAXIMUM, label: node.id }),
    ),
    invocationsOf: (worker: string, period: Duration): Metric =>
      workers.named(worker).function.metricInvocations({ period }),
    failuresOf: (worker: string, period: Duration): Metric => workers.named(worker).function.metricErrors({ period }),
    /** The events of failed runs that the dead-letter queue did not get. */
    lostDeadLetters: [
      ...workers.functions
        .filter(({ function: { deadLetterQueue } }) => deadLetterQueue !== undefined)
        .map(({ function: lambda, node }) =>
          lambda.metric('DeadLetterErrors', { statistic: Stats.SUM, label: node.id }),
        ),
      workers.schedules.metricFailedToBeSentToDLQ(undefined, { statistic: Stats.SUM, label: 'schedules' }),
    ],
    /** Events that the bus could not encrypt or decrypt. */
    lostEvents: events.failed.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM }),
    /**
     * Events that a rule on the bus matched and gave up on, of every rule, whoever made it: a query, since nobody here knows their names.
     * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-monitoring.html
     */
    undelivered: new MathExpression({
      label: 'failed invocations of rules',
      expression: `SELECT SUM(FailedInvocations) FROM "AWS/Events" WHERE EventBusName = '${events.bus.eventBusName}'`,
    }),
    deadLetters: workers.failed.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM }),
    // Per configuration set, so that stages in one account stay separate. A fraction, not a percentage.
    // https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html
    bounceRate: aws('SES', 'Reputation.BounceRate', { 'ses:configuration-set': configurationSetName }),
    complaintRate: aws('SES', 'Reputation.ComplaintRate', { 'ses:configuration-set': configurationSetName }),
    // Metrics of the whole cluster: https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.AuroraMonitoring.Metrics.html
    database: (name: AuroraMetric, options: MetricOptions = {}): Metric =>
      database.cluster.metric(name, { statistic: Stats.MAXIMUM, label: name, ...options }),
    /** The percentage of connections in use that are pinned to one client. Null without a proxy. */
    pinned:
      proxy === null
        ? null
        : new MathExpression({
            label: 'pinned, percent',
            period: Duration.minutes(1),
            expression: 'IF(borrowed > 0, 100 * pinned / borrowed, 0)',
            usingMetrics: {
              pinned: ofProxy('DatabaseConnectionsCurrentlySessionPinned', proxy),
              borrowed: ofProxy('DatabaseConnectionsCurrentlyBorrowed', proxy),
            },
          }),
    /** The days until each certificate ends. ACM writes them twice a day. */
    daysToExpiry: certificates.map((CertificateArn) =>
      aws(
        'CertificateManager',
        'DaysToExpiry',
        { CertificateArn },
        { statistic: Stats.MINIMUM, period: Duration.days(1) },
      ),
    ),
    backups:
      backups === null
        ? null
        : {
            done: backup(
              backups.copied ? 'NumberOfCopyJobsCompleted' : 'NumberOfBackupJobsCompleted',
              backups.vaultName,
              Duration.hours(6),
            ),
            failed: sumOf(
              ['NumberOfBackupJobsFailed', 'NumberOfCopyJobsFailed'].map((name) =>
                backup(name, backups.vaultName, Duration.hours(1)),
              ),
              'failed',
            ),
          },
    rotationFailures: workers.named(ROTATION_WORKER).function.metricErrors({ period: Duration.hours(1) }),
  }
}

export type StageMetrics = ReturnType<typeof stageMetrics>

type AuroraMetric =
  | 'ACUUtilization'
  | 'AuroraReplicaLagMaximum'
  | 'CPUUtilization'
  | 'DatabaseConnections'
  | 'Deadlocks'
  | 'FreeLocalStorage'
  | 'MaximumUsedTransactionIDs'
  | 'ServerlessDatabaseCapacity'

/** Returns the sum of metrics. One without data counts as 0. */
export function sumOf(metrics: readonly Metric[], label: string): MathExpression {
  const names = metrics.map((_, index) => `m${index}`)
  return new MathExpression({
    label,
    expression: names.map((name) => `FILL(${name}, 0)`).join(' + '),
    usingMetrics: Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric])),
    ...(metrics[0] === undefined ? {} : { period: metrics[0].period }),
  })
}

/** Splits a list into parts of at most `size`. */
export const chunks = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
