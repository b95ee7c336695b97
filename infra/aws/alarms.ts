import { CfnOutput, Duration, Stack } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import { chunks, type Measures, measures, sumOf, type Watched } from './measures.ts'

/** What is worth waking somebody for. */
interface Watch {
  readonly metric: IMetric
  /** Alarming when it is over this, or with `below` when it is under it. */
  readonly over?: number
  readonly below?: number
  /** In so many of the last so many periods. */
  readonly periods: readonly [bad: number, of: number]
  /** What no data means: quiet where only trouble is counted, or a failure of what should measure. */
  readonly missing: 'quiet' | 'failure'
  readonly says: string
}

const MINUTE = Duration.minutes(1)
const HOUR = Duration.hours(1)
// An alarm adds up ten metrics at most: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
const MOST_SUMMED = 10

/**
 * The alarms of a stage, each by the name of its entry in infra/runbook.md; in CloudWatch with `tenantry-STAGE-` before it,
 * and a number after it where one alarm cannot read all that it is about.
 * They send to one topic, both when they go off and when they are over.
 */
export class Alarms extends Construct {
  readonly topic: Topic
  readonly alarms: readonly Alarm[]

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
    this.alarms = Object.entries(watches(watched, measures(watched))).map(([name, watch]) => {
      const { metric, over, below, periods, missing, says } = watch
      const [datapointsToAlarm, evaluationPeriods] = periods
      const alarm = new Alarm(this, name, {
        alarmName: prefix + name,
        alarmDescription: `${says} See ${name.replace(/-\d+$/, '')} in infra/runbook.md.`,
        metric,
        threshold: over ?? below ?? 0,
        comparisonOperator:
          over === undefined ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
        datapointsToAlarm,
        evaluationPeriods,
        treatMissingData: missing === 'quiet' ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
      })
      alarm.addAlarmAction(action)
      alarm.addOkAction(action)
      return alarm
    })
  }

  // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services: without both,
  // an alarm goes off and nobody hears of it.
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

function watches(watched: Watched, measured: Measures): Record<string, Watch> {
  const { numbers } = watched
  const { own } = measured
  const share = (
    part: IMetric,
    whole: IMetric,
    { from, label, of }: { from: number; label: string; of: 'whole' | 'sum' },
  ) =>
    new MathExpression({
      label,
      expression: `IF(FILL(part, 0) >= ${from}, 100 * FILL(part, 0) / (${of === 'sum' ? 'FILL(part, 0) + ' : ''}FILL(whole, 0)), 0)`,
      usingMetrics: { part, whole },
    })
  const throttled = chunks(measured.throttles, MOST_SUMMED).map((part, index): [string, Watch] => [
    index === 0 ? 'functions-throttled' : `functions-throttled-${index + 1}`,
    {
      metric: sumOf(part, 'throttled'),
      over: 0,
      periods: [3, 3],
      missing: 'quiet',
      says: 'Functions are refused an instance: their reserved concurrency or the quota of the account is used up.',
    },
  ])

  return {
    'api-errors': {
      metric: share(measured.serverErrors, measured.requests, { from: 5, label: '5xx, percent', of: 'whole' }),
      over: 1,
      periods: [2, 2],
      missing: 'quiet',
      says: 'More than 1 % of the requests, and at least five, are answered by a 5xx.',
    },
    'api-latency': {
      metric: measured.latency('p99'),
      over: 2000,
      periods: [3, 3],
      missing: 'quiet',
      says: 'One request in a hundred takes more than two seconds.',
    },
    ...Object.fromEntries(throttled),
    'firewall-blocks': {
      metric: measured.blocked,
      over: 10_000,
      periods: [3, 3],
      missing: 'quiet',
      says: 'The firewall has refused more than ten thousand requests in each five minutes of the last fifteen.',
    },
    'sign-in-failures': {
      metric: share(own('SignInFailed'), own('SignInSucceeded'), { from: 100, label: 'failed, percent', of: 'sum' }),
      over: 80,
      periods: [2, 2],
      missing: 'quiet',
      says: 'Four of five sign-ins fail, and at least a hundred in five minutes.',
    },
    'tokens-refused': {
      metric: share(own('Unauthorized'), measured.requests, { from: 500, label: '401, percent', of: 'whole' }),
      over: 50,
      periods: [2, 2],
      missing: 'quiet',
      says: 'More than half of the requests, and at least five hundred in five minutes, carry no live session.',
    },
    'limiter-degraded': {
      metric: own('LimiterDegraded'),
      over: 0,
      periods: [3, 3],
      missing: 'quiet',
      says: 'The cache has failed for a quarter of an hour; the database alone counts rate limits.',
    },
    'secret-not-reread': {
      metric: own('SecretNotReread'),
      over: 0,
      periods: [3, 3],
      missing: 'quiet',
      says: 'Functions cannot read their secrets again and go on with those of before.',
    },
    'seal-broken': {
      metric: own('DecryptionFailed', { period: MINUTE }),
      over: 0,
      periods: [1, 1],
      missing: 'quiet',
      says: 'A sealed secret does not open for the shop that it is stored for: tampering, or a fault of ours.',
    },
    'kms-failed': {
      metric: own('KmsFailed'),
      over: 4,
      periods: [1, 1],
      missing: 'quiet',
      says: 'KMS gives no answer or refuses: vendor credentials can neither be stored nor used.',
    },
    'queue-late': {
      metric: own('QueueOldest', { period: MINUTE }),
      over: 300,
      periods: [3, 3],
      missing: 'failure',
      says: 'A job has been due for more than five minutes, or the queue is not measured.',
    },
    'jobs-dead': {
      metric: own('QueueDead', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [1, 1],
      missing: 'quiet',
      says: 'A job was put aside for good within the last hour.',
    },
    'dead-letters': {
      metric: measured.deadLetters,
      over: 0,
      periods: [1, 1],
      missing: 'quiet',
      says: 'A run of a job failed as a whole; the event is kept in the queue of failures.',
    },
    'maintenance-missed': {
      metric: new MathExpression({
        label: 'runs that ended well',
        expression: 'FILL(runs, 0) - FILL(failed, 0)',
        usingMetrics: {
          runs: measured.invocationsOf('maintain', HOUR),
          failed: measured.failuresOf('maintain', HOUR),
        },
        period: HOUR,
      }),
      below: 1,
      periods: [3, 3],
      missing: 'failure',
      says: 'Maintenance has not run for three hours: no partitions are made and nothing is deleted.',
    },
    'partition-missing': {
      metric: own('AuditRowsWithoutPartition', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [3, 3],
      missing: 'quiet',
      says: 'The audit log has entries of a month that has no partition.',
    },
    // Over these SES puts an account under review: https://docs.aws.amazon.com/ses/latest/dg/faqs-enforcement.html
    'mail-bounces': {
      metric: measured.bounceRate,
      over: 0.05,
      periods: [1, 1],
      missing: 'quiet',
      says: 'More than 5 % of the mail bounces; SES reviews the account, and pauses it at 10 %.',
    },
    'mail-complaints': {
      metric: measured.complaintRate,
      over: 0.001,
      periods: [1, 1],
      missing: 'quiet',
      says: 'More than 0.1 % of the mail is complained of; SES reviews the account, and pauses it at 0.5 %.',
    },
    'database-at-capacity': {
      metric: new MathExpression({
        label: 'used of the most that is allowed, percent',
        expression: 'MAX([capacity, cpu])',
        usingMetrics: { capacity: measured.database('ACUUtilization'), cpu: measured.database('CPUUtilization') },
      }),
      over: 95,
      periods: [3, 3],
      missing: 'failure',
      says: 'The database has used all of the capacity that the stage allows it for a quarter of an hour.',
    },
    'database-connections': {
      metric: measured.database('DatabaseConnections'),
      over: Math.floor(0.8 * mostConnections(numbers)),
      periods: [3, 3],
      missing: 'failure',
      says: 'More than 80 % of the connections that the database takes are in use.',
    },
    'database-storage': {
      metric: measured.database('FreeLocalStorage', { statistic: Stats.MINIMUM }),
      below: 1024 ** 3,
      periods: [1, 1],
      missing: 'quiet',
      says: 'An instance of the database has less than 1 GiB left for temporary files.',
    },
    ...(numbers.readers === 0
      ? {}
      : {
          'database-replica-lag': {
            metric: measured.database('AuroraReplicaLagMaximum'),
            over: 2000,
            periods: [3, 3],
            missing: 'quiet',
            says: 'A reader is more than two seconds behind the writer.',
          } satisfies Watch,
        }),
    ...(measured.pinned === null
      ? {}
      : {
          'proxy-pinned': {
            metric: measured.pinned,
            over: 10,
            periods: [5, 5],
            missing: 'quiet',
            says: 'More than 10 % of the borrowed connections are pinned to one client for five minutes.',
          } satisfies Watch,
        }),
    'rotation-failed': {
      metric: sumOf(measured.rotationFailures, 'failed rotations'),
      over: 0,
      periods: [1, 1],
      missing: 'quiet',
      says: 'The rotation of a database password failed.',
    },
  }
}

/**
 * How many connections an instance takes by its default: one for 9531392 bytes of its most memory, 2 GiB a unit, and no more
 * than 5000, or 2000 when it may go down to half a unit.
 * https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora-serverless-v2.setting-capacity.html
 */
const mostConnections = ({ maxCapacity, minCapacity }: Watched['numbers']): number =>
  Math.min(Math.floor((maxCapacity * 2 * 1024 ** 3) / 9_531_392), minCapacity <= 0.5 ? 2000 : 5000)
