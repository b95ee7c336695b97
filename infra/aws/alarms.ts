import { CfnOutput, Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
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
 * follows where the metrics need more than one alarm. All publish to one topic, when they go off and when they recover.
 */
export class Alarms extends Construct {
  readonly topic: Topic
  readonly alarms: readonly Alarm[]
  /** Any of these stops a release, and moves it back. */
  readonly stoppingReleases: readonly Alarm[]

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
        alarm.addAlarmAction(action)
        alarm.addOkAction(action)
      }
      return { entry, alarm }
    })
    this.alarms = all.map(({ alarm }) => alarm)
    this.stoppingReleases = all.filter(({ entry }) => entry.stopsReleases === true).map(({ alarm }) => alarm)
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
