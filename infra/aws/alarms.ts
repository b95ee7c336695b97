import { CfnOutput, Duration, Stack } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  type Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import { chunks, type StageMetrics, stageMetrics, sumOf, type Watched } from './metrics.ts'

/** An alarm that is worth waking somebody for. */
interface AlarmDefinition {
  readonly metric: IMetric
  /** The alarm goes off above `over`, or below `below`. */
  readonly over?: number
  readonly below?: number
  /** Goes off when `bad` of the last `of` periods are bad. */
  readonly periods: readonly [bad: number, of: number]
  /** Whether missing data is normal, because only failures write data, or means that the source itself failed. */
  readonly missing: 'normal' | 'failure'
  readonly description: string
  /** Only stops a release. It is too sensitive to wake somebody. */
  readonly ofReleases?: true
}

const MINUTE = Duration.minutes(1)
// Not those of hours: they stay on after the repair.
const STOPS_RELEASES =
  /^(release-errors|release-failures|api-errors|api-latency|page-errors|functions-throttled|decisions-failing)(-\d+)?$/
const HOUR = Duration.hours(1)
// The objective is 99.9 % of requests without a 5xx in 30 days. An alarm goes off at a multiple of the rate that uses up the rest.
const ERROR_BUDGET_PERCENT = 0.1
const FAST_BURN = 14.4
const SLOW_BURN = 6
// An alarm reads at most ten metrics: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
const MAX_METRICS_PER_ALARM = 10

/**
 * The alarms of a stage. CloudWatch's name is `tenantry-STAGE-` and the heading of its entry in infra/runbook.md. A number
 * follows where the metrics need more than one alarm. All publish to one topic, when they go off and when they recover.
 */
export class Alarms extends Construct {
  readonly topic: Topic
  readonly alarms: readonly Alarm[]
  /** Any of these stops a release, and moves it back. */
  readonly ofReleases: readonly Alarm[]

  constructor(
    scope: Construct,
    id: string,
    { watched, key, email }: { watched: Watched; key: Key; email: string | undefined },
  ) {
    super(scope, id)
    const prefix = `tenantry-${watched.stage}-`
    this.topic = new Topic(this, 'Topic', { masterKey: key, enforceSSL: true })
    this.allowCloudWatch(key, prefix)
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email))
    new CfnOutput(Stack.of(this), 'AlarmTopic', { value: this.topic.topicArn })
    const action = new SnsAction(this.topic)
    const all = Object.entries(definitions(watched, stageMetrics(watched))).map(([name, definition]) => {
      const { metric, over, below, periods, missing, description } = definition
      const [datapointsToAlarm, evaluationPeriods] = periods
      const alarm = new Alarm(this, name, {
        alarmName: prefix + name,
        alarmDescription: `${description} See ${name.replace(/-\d+$/, '')} in infra/runbook.md.`,
        metric,
        threshold: over ?? below ?? 0,
        comparisonOperator:
          over === undefined ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
        datapointsToAlarm,
        evaluationPeriods,
        treatMissingData: missing === 'normal' ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
      })
      if (definition.ofReleases === undefined) {
        alarm.addAlarmAction(action)
        alarm.addOkAction(action)
      }
      return { name, alarm }
    })
    this.alarms = all.map(({ alarm }) => alarm)
    this.ofReleases = all.filter(({ name }) => STOPS_RELEASES.test(name)).map(({ alarm }) => alarm)
  }

  // Without both permissions an alarm goes off and no message is sent:
  // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
  private allowCloudWatch(key: Key, prefix: string): void {
    const { account, region, partition } = Stack.of(this)
    const allowed = (actions: string[], resource: string) =>
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions,
        resources: [resource],
        conditions: {
          StringEquals: { 'aws:SourceAccount': account },
          ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${prefix}*` },
        },
      })
    key.addToResourcePolicy(allowed(['kms:GenerateDataKey*', 'kms:Decrypt'], '*'))
    this.topic.addToResourcePolicy(allowed(['sns:Publish'], this.topic.topicArn))
  }
}

/** The alarms that only stop a release. They count single minutes, because a release waits five minutes for them. */
function releaseAlarms({ serverErrors, requests, liveFailures }: StageMetrics): Record<string, AlarmDefinition> {
  const common = { periods: [2, 5], missing: 'normal', ofReleases: true } as const
  const errors: AlarmDefinition = {
    ...common,
    metric: new MathExpression({
      label: '5xx, percent',
      expression: 'IF(FILL(part, 0) > 0, 100 * FILL(part, 0) / whole, 0)',
      usingMetrics: { part: serverErrors.with({ period: MINUTE }), whole: requests.with({ period: MINUTE }) },
      period: MINUTE,
    }),
    over: 0.5,
    description: 'In 2 of 5 minutes more than 0.5 % of the requests got a 5xx response.',
  }
  const failures = chunks(liveFailures, MAX_METRICS_PER_ALARM).map((part, index): [string, AlarmDefinition] => [
    index === 0 ? 'release-failures' : `release-failures-${index + 1}`,
    {
      ...common,
      metric: sumOf(part, 'failed'),
      over: 0,
      description: 'In 2 of 5 minutes an invocation of a function failed or timed out.',
    },
  ])
  return { 'release-errors': errors, ...Object.fromEntries(failures) }
}

/** The probe of a stage could not do what people do, or did not run. */
const unreachable = (metric: IMetric, what: string, behind: string): AlarmDefinition => ({
  metric,
  below: 1,
  periods: [3, 3],
  missing: 'failure',
  description: `For 3 minutes nobody could ${what} through the public address. DNS, certificate, firewall, gateway, ${behind} fail, or the probe itself.`,
})

function definitions(watched: Watched, metrics: StageMetrics): Record<string, AlarmDefinition> {
  const { config } = watched
  const { own } = metrics
  /** The percentage of `part` in `whole`, or in the sum of both. 0 while `part` is below `from`. */
  const percentage = (
    part: Metric,
    whole: Metric,
    { from, label, of }: { from: number; label: string; of: 'whole' | 'sum' },
  ) =>
    new MathExpression({
      label,
      period: part.period,
      expression: `IF(FILL(part, 0) >= ${from}, 100 * FILL(part, 0) / (${of === 'sum' ? 'FILL(part, 0) + ' : ''}FILL(whole, 0)), 0)`,
      usingMetrics: { part, whole },
    })
  /** As many alarms as these metrics need. Each goes off when the sum of its metrics was above 0 for so many periods. */
  const anyOf = (name: string, parts: readonly Metric[], bad: number, label: string, description: string) =>
    Object.fromEntries(
      chunks(parts, MAX_METRICS_PER_ALARM).map((part, index): [string, AlarmDefinition] => [
        index === 0 ? name : `${name}-${index + 1}`,
        { metric: sumOf(part, label), over: 0, periods: [bad, bad], missing: 'normal', description },
      ]),
    )

  return {
    'api-errors': {
      metric: percentage(metrics.serverErrors, metrics.requests, { from: 5, label: '5xx, percent', of: 'whole' }),
      over: FAST_BURN * ERROR_BUDGET_PERCENT,
      periods: [2, 2],
      missing: 'normal',
      description:
        'For 10 minutes more than 1.44 % of the requests, and at least 5 in each 5 minutes, got a 5xx response. At this rate the errors that 99.9 % allows in a month are used up in 2 days.',
    },
    'api-errors-slow': {
      metric: percentage(metrics.serverErrors.with({ period: HOUR }), metrics.requests.with({ period: HOUR }), {
        from: 5,
        label: '5xx, percent',
        of: 'whole',
      }),
      over: SLOW_BURN * ERROR_BUDGET_PERCENT,
      periods: [3, 6],
      missing: 'normal',
      description:
        'In 3 of the last 6 hours more than 0.6 % of the requests, and at least 5 an hour, got a 5xx response. At this rate the errors that 99.9 % allows in a month are used up in 5 days.',
    },
    'api-latency': {
      metric: metrics.latency('p99'),
      over: 2000,
      periods: [3, 3],
      missing: 'normal',
      description: 'For 15 minutes 1 % of the requests took longer than 2 seconds.',
    },
    'page-errors': {
      metric: percentage(metrics.pages.serverErrors, metrics.pages.requests, {
        from: 5,
        label: '5xx, percent',
        of: 'whole',
      }),
      over: FAST_BURN * ERROR_BUDGET_PERCENT,
      periods: [2, 2],
      missing: 'normal',
      description: 'For 10 minutes more than 1.44 % of the pages, and at least 5 in each 5 minutes, were a 5xx.',
    },
    'page-latency': {
      metric: metrics.pages.latency('p99'),
      over: 4000,
      periods: [3, 3],
      missing: 'normal',
      description: 'For 15 minutes 1 % of the pages took longer than 4 seconds.',
    },
    ...(config.canary ? releaseAlarms(metrics) : {}),
    ...anyOf(
      'functions-throttled',
      metrics.throttles,
      3,
      'throttled',
      'Lambda refused to start more instances for 15 minutes, and clients got 5xx. The reserved concurrency of a function or the quota of the account is used up.',
    ),
    'decisions-failing': {
      metric: metrics.failedDecisions,
      over: 5,
      periods: [3, 5],
      missing: 'normal',
      description:
        'In 3 of 5 minutes more than 5 invocations of authorize failed. Other services respond with 503 to those requests.',
    },
    'credentials-failing': {
      metric: metrics.failedOpenings,
      over: 5,
      periods: [3, 5],
      missing: 'normal',
      description:
        'In 3 of 5 minutes more than 5 invocations of open-credential failed. Other services get no vendor credential.',
    },
    'sign-in-unreachable': unreachable(own('ProbeSucceeded', { period: MINUTE }), 'sign in', 'functions or database'),
    ...(config.probesPages
      ? {
          'pages-unreachable': unreachable(
            own('PagesProbeSucceeded', { period: MINUTE }),
            'open a page',
            'front end or API',
          ),
        }
      : {}),
    'firewall-blocks': {
      metric: sumOf([metrics.blocked, metrics.pages.blocked], 'blocked'),
      over: 10_000,
      periods: [3, 3],
      missing: 'normal',
      description: 'For 15 minutes the firewall refused more than 10,000 requests in each 5 minutes.',
    },
    'sign-in-failures': {
      metric: percentage(own('SignInFailed'), own('SignInSucceeded'), {
        from: 100,
        label: 'failed, percent',
        of: 'sum',
      }),
      over: 80,
      periods: [2, 2],
      missing: 'normal',
      description:
        'For 10 minutes more than 80 % of the sign-ins failed, and at least 100 in each 5 minutes. Either somebody guesses passwords, or nobody can sign in.',
    },
    'tokens-refused': {
      metric: percentage(own('Unauthorized'), metrics.requests, { from: 500, label: '401, percent', of: 'whole' }),
      over: 50,
      periods: [2, 2],
      missing: 'normal',
      description: 'For 10 minutes more than half of the requests, and at least 500 in each 5 minutes, got a 401.',
    },
    'limiter-degraded': {
      metric: own('LimiterDegraded'),
      over: 0,
      periods: [3, 3],
      missing: 'normal',
      description:
        'The cache has failed for 15 minutes. The database counts rate limits alone, so limits hold and sign-ins work.',
    },
    'secret-not-reread': {
      metric: own('SecretRefreshFailed'),
      over: 0,
      periods: [3, 3],
      missing: 'normal',
      description:
        'Functions cannot refresh their secrets from Secrets Manager and are using cached values. New instances cannot start.',
    },
    'seal-broken': {
      metric: own('DecryptionFailed', { period: MINUTE }),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A vendor secret did not decrypt for the tenant and account it is stored for. Suspect tampering until it is explained.',
    },
    'scope-forged': {
      metric: own('ScopeForged', { period: MINUTE }),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A statement presented a tenant or a ticket that the database had not sealed, which no code of the service does. Suspect an SQL injection.',
    },
    'connection-unclean': {
      metric: own('DatabaseUnclean', { period: MINUTE }),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A request left a prepared statement, a cursor or an open transaction on its database connection, which no code of the service does. Suspect an SQL injection.',
    },
    'kms-failed': {
      metric: own('KmsFailed'),
      over: 4,
      periods: [1, 1],
      missing: 'normal',
      description:
        'KMS failed or refused at least 5 times in 5 minutes. Vendor credentials cannot be stored or used; everything else works.',
    },
    'queue-late': {
      metric: own('QueueOldest', { period: MINUTE }),
      over: 300,
      periods: [3, 3],
      missing: 'failure',
      description: 'For 3 minutes the oldest due job was more than 5 minutes late, or the queue was not measured.',
    },
    'mail-delayed': {
      metric: metrics.ageOf('mail'),
      over: 1800,
      periods: [3, 3],
      missing: 'normal',
      description:
        'An email has waited for more than half an hour: SES fails, sending is paused, or a quota is used up.',
    },
    'events-delayed': {
      metric: metrics.ageOf('event'),
      over: 900,
      periods: [3, 3],
      missing: 'normal',
      description:
        'An event has waited for more than 15 minutes: EventBridge fails or refuses, or publish-events does not run. Other services learn of changes late.',
    },
    'events-lost': {
      metric: metrics.lostEvents,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'The event bus took an event and could not encrypt or decrypt it. The event is in the dead-letter queue of the bus.',
    },
    'jobs-dead': {
      metric: own('QueueDead', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A job or an event was dead-lettered within the last hour: it failed for good and will not be retried.',
    },
    'syncs-failing': {
      metric: own('SyncFailed'),
      over: 2,
      periods: [3, 3],
      missing: 'normal',
      description:
        'For 15 minutes at least 3 sync runs failed in each 5 minutes, for another reason than a refused credential. Catalogs and prices of tenants stay as they were.',
    },
    'dead-letters': {
      metric: metrics.deadLetters,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A run of a scheduled job failed. Its event is in the dead-letter queue, and the next scheduled run does the work.',
    },
    ...anyOf(
      'dead-letters-lost',
      metrics.lostDeadLetters,
      1,
      'lost events',
      'A run of a scheduled job failed, and its event did not reach the dead-letter queue. The next scheduled run does the work.',
    ),
    'maintenance-missed': {
      metric: new MathExpression({
        label: 'successful runs',
        expression: 'FILL(runs, 0) - FILL(failed, 0)',
        usingMetrics: {
          runs: metrics.invocationsOf('maintain', HOUR),
          failed: metrics.failuresOf('maintain', HOUR),
        },
        period: HOUR,
      }),
      below: 1,
      periods: [3, 3],
      missing: 'failure',
      description:
        'The job maintain has not succeeded for 3 hours. No audit partitions are created and expired rows stay.',
    },
    'partition-missing': {
      metric: own('AuditRowsWithoutPartition', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [3, 3],
      missing: 'normal',
      description: 'The audit log has entries for a month without a partition. They are safe in the default partition.',
    },
    // Above these rates SES puts an account under review: https://docs.aws.amazon.com/ses/latest/dg/faqs-enforcement.html
    'mail-bounces': {
      metric: metrics.bounceRate,
      over: 0.05,
      periods: [1, 1],
      missing: 'normal',
      description:
        'More than 5 % of the mail bounced. SES puts the account under review, and may pause sending at 10 %.',
    },
    'mail-complaints': {
      metric: metrics.complaintRate,
      over: 0.001,
      periods: [1, 1],
      missing: 'normal',
      description:
        'Recipients marked more than 0.1 % of the mail as spam. SES puts the account under review, and may pause sending at 0.5 %.',
    },
    'database-at-capacity': {
      metric: new MathExpression({
        label: 'used of maximum capacity, percent',
        expression: 'MAX([capacity, cpu])',
        usingMetrics: { capacity: metrics.database('ACUUtilization'), cpu: metrics.database('CPUUtilization') },
      }),
      over: 95,
      periods: [3, 3],
      missing: 'failure',
      description: 'For 15 minutes the database used more than 95 % of its maximum capacity, or reported nothing.',
    },
    'database-connections': {
      metric: metrics.database('DatabaseConnections'),
      over: Math.floor(0.8 * maxConnections(config)),
      periods: [3, 3],
      missing: 'failure',
      description:
        'For 15 minutes more than 80 % of the connections that the database accepts were in use, or it reported nothing.',
    },
    'database-storage': {
      metric: metrics.database('FreeLocalStorage', { statistic: Stats.MINIMUM }),
      below: 1024 ** 3,
      periods: [1, 1],
      missing: 'normal',
      description: 'A database instance has less than 1 GiB left for temporary files.',
    },
    ...(config.readers === 0
      ? {}
      : {
          'database-replica-lag': {
            metric: metrics.database('AuroraReplicaLagMaximum'),
            over: 2000,
            periods: [3, 3],
            missing: 'normal',
            description: 'For 15 minutes a database reader was more than 2 seconds behind the writer.',
          } satisfies AlarmDefinition,
        }),
    ...(metrics.pinned === null
      ? {}
      : {
          'proxy-pinned': {
            metric: metrics.pinned,
            over: 10,
            periods: [5, 5],
            missing: 'normal',
            description:
              'For 5 minutes more than 10 % of the connections in use through RDS Proxy were pinned to one client.',
          } satisfies AlarmDefinition,
        }),
    'rotation-failed': {
      metric: sumOf(metrics.rotationFailures, 'failed rotations'),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description: 'The rotation of a database password failed. The previous password still works.',
    },
  }
}

/**
 * Returns Aurora's default for max_connections: one connection per 9531392 bytes of maximum memory (2 GiB per capacity unit),
 * at most 5000, or at most 2000 when the minimum is half a unit.
 * https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora-serverless-v2.setting-capacity.html
 */
const maxConnections = ({ maxCapacity, minCapacity }: Watched['config']): number =>
  Math.min(Math.floor((maxCapacity * 2 * 1024 ** 3) / 9_531_392), minCapacity <= 0.5 ? 2000 : 5000)
