import { CfnOutput, Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import type { AlarmDefinitions } from './alarm-definition.ts'
import { databaseAlarms } from './database-alarms.ts'
import { jobAlarms } from './job-alarms.ts'
import { stageMetrics, type Watched } from './metrics.ts'
import { requestAlarms } from './request-alarms.ts'
import { safetyAlarms } from './safety-alarms.ts'

// Not those of hours: they stay on after the repair.
const STOPS_RELEASES =
  /^(release-errors|release-failures|api-errors|api-latency|page-errors|functions-throttled|decisions-failing)(-\d+)?$/

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
    const all = Object.entries(definitions(watched)).map(([name, definition]) => {
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

function definitions(watched: Watched): AlarmDefinitions {
  const metrics = stageMetrics(watched)
  return {
    ...requestAlarms(watched, metrics),
    ...safetyAlarms(metrics),
    ...jobAlarms(metrics),
    ...databaseAlarms(watched, metrics),
  }
}
