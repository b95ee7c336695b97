import { CfnOutput, Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events'
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import { type AlarmDefinition, type AlarmDefinitions, MAX_METRICS_PER_ALARM } from './alarm-definition.ts'
import { alarmEntries, SEVERITIES } from './alarm-table.ts'
import { databaseAlarms } from './database-alarms.ts'
import { jobAlarms } from './job-alarms.ts'
import { chunks, stageMetrics, sumOf, type Watched } from './metrics.ts'
import { requestAlarms } from './request-alarms.ts'
import { safetyAlarms } from './safety-alarms.ts'

/**
 * The alarms of a stage. CloudWatch's name is `tenantry-STAGE-` and the heading of its entry in infra/runbook. A number
 * follows where the metrics need more than one alarm. Each publishes when it goes off and when it recovers: to one topic those that wake
 * somebody, to another those that wait for the morning.
 */
export class Alarms extends Construct {
  readonly alarms: readonly Alarm[]
  /** Any of these stops a release, and moves it back. */
  readonly stoppingReleases: readonly Alarm[]

  constructor(
    scope: Construct,
    id: string,
    { watched, key, vaultKey, email }: { watched: Watched; key: Key; vaultKey: Key; email: string | undefined },
  ) {
    super(scope, id)
    const prefix = `tenantry-${watched.stage}-`
    const topicFor = (id: string, output: string): Topic => {
      const topic = new Topic(this, id, { masterKey: key, enforceSSL: true })
      if (email !== undefined) topic.addSubscription(new EmailSubscription(email))
      new CfnOutput(Stack.of(this), output, { value: topic.topicArn })
      return topic
    }
    const topics = { wake: topicFor('Topic', 'AlarmTopic'), morning: topicFor('Morning', 'MorningTopic') }
    this.allowCloudWatch(key, Object.values(topics), prefix)
    this.watchKey(vaultKey, topics.wake)
    const all = defined(watched).map(({ name, entryName, entry, definition, metric }) => {
      const { over, below, periods, missing, description } = definition
      const [datapointsToAlarm, evaluationPeriods] = periods
      const alarm = new Alarm(this, name, {
        alarmName: prefix + name,
        alarmDescription: `${description} It ${SEVERITIES[entry.severity]}. See ${entryName} in infra/runbook/${entry.page}.md.`,
        metric,
        threshold: over ?? below ?? 0,
        comparisonOperator:
          over === undefined ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
        datapointsToAlarm,
        evaluationPeriods,
        treatMissingData: missing === 'normal' ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
      })
      if (entry.severity !== 'release') {
        const action = new SnsAction(topics[entry.severity])
        alarm.addAlarmAction(action)
        alarm.addOkAction(action)
      }
      return { entry, alarm }
    })
    this.alarms = all.map(({ alarm }) => alarm)
    this.stoppingReleases = all.filter(({ entry }) => entry.stopsReleases === true).map(({ alarm }) => alarm)
  }

  /** Tells of a call that takes the vault key away, before a tenant tries to use it. No metric has it, and CloudTrail has to record it. */
  private watchKey({ keyArn, keyId }: Key, topic: Topic): void {
    new Rule(this, 'VaultKeyChanged', {
      eventPattern: {
        source: ['aws.kms'],
        detailType: ['AWS API Call via CloudTrail'],
        detail: {
          eventName: ['DisableKey', 'ScheduleKeyDeletion'],
          requestParameters: { keyId: [keyArn, keyId] },
        },
      },
      targets: [
        new SnsTopic(topic, {
          message: RuleTargetInput.fromText(
            `Somebody disabled the vault key or scheduled its deletion. It ${SEVERITIES.wake}. See vault-key-changed in infra/runbook/safety.md.`,
          ),
        }),
      ],
    })
  }

  // Without both permissions an alarm goes off and no message is sent:
  // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
  private allowCloudWatch(key: Key, topics: readonly Topic[], prefix: string): void {
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
    for (const topic of topics) topic.addToResourcePolicy(allowed(['sns:Publish'], topic.topicArn))
  }
}

/** Returns the alarms of a stage, each with the name in CloudWatch. */
function defined(watched: Watched) {
  const metrics = stageMetrics(watched)
  const definitions: AlarmDefinitions = {
    ...requestAlarms(watched, metrics),
    ...safetyAlarms(metrics),
    ...jobAlarms(metrics),
    ...databaseAlarms(watched, metrics),
  }
  return alarmEntries().flatMap(({ name: entryName, entry }) => {
    const definition = definitions[entryName]
    if (definition === undefined) return []
    return metricsOf(definition).map((metric, index) => {
      const name = index === 0 ? entryName : `${entryName}-${index + 1}`
      return { name, entryName, entry, definition, metric }
    })
  })
}

/** Returns the metric of each alarm that CloudWatch needs for a definition. */
const metricsOf = ({ metric }: AlarmDefinition): readonly IMetric[] =>
  'sumOf' in metric ? chunks(metric.sumOf, MAX_METRICS_PER_ALARM).map((part) => sumOf(part, metric.label)) : [metric]
