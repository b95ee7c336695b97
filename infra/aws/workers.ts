import { CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Schedule, ScheduleExpression, ScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Subscription, SubscriptionProtocol } from 'aws-cdk-lib/aws-sns'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Trigger } from 'aws-cdk-lib/triggers'
import { Construct, type IConstruct } from 'constructs'
import type { DeployedWorker } from '#infra/route-groups.ts'
import { type FunctionContext, TenantryFunction } from './function.ts'

const MIGRATION_WORKER = 'migrate'
// Lambda's maximum. The function that invokes the migrations waits up to a minute for its permissions first.
const PROVIDER_TIMEOUT = Duration.minutes(15)

/** The workers, their schedules, and the dead-letter queue for the events of failed runs. */
export class Workers extends Construct {
  readonly functions: readonly TenantryFunction[]
  /** Runs the migrations when a deployment changes them. Resources that depend on it deploy only after they succeed. */
  readonly migrated: Trigger
  readonly migrate: TenantryFunction
  readonly failed: Queue
  /** The schedules of this stage alone, whose metrics CloudWatch has by group. */
  readonly schedules: ScheduleGroup
  /** The role of the schedules. */
  private readonly invoker: Role

  constructor(
    scope: Construct,
    id: string,
    props: { workers: readonly DeployedWorker[]; context: FunctionContext; key: IKey; after: readonly IConstruct[] },
  ) {
    super(scope, id)
    const { workers, context, key, after } = props
    const encrypted = { encryption: QueueEncryption.KMS, encryptionMasterKey: key, enforceSSL: true }
    this.failed = new Queue(this, 'Failed', { ...encrypted, retentionPeriod: Duration.days(14) })
    this.schedules = new ScheduleGroup(this, 'Schedules', {
      scheduleGroupName: `tenantry-${context.stage}`,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.invoker = this.scheduleRole()
    this.grantDeadLetters(this.invoker, key)
    this.functions = workers.map(({ worker, handlerFile }) => {
      const { everySeconds, receives } = worker
      const made = new TenantryFunction(this, context, {
        kind: 'worker',
        ...worker,
        handlerFile,
        ...(everySeconds === undefined ? {} : { deadLetterQueue: this.failed }),
      })
      if (everySeconds !== undefined) {
        this.grantDeadLetters(made.function.role, key)
        const target = new LambdaInvoke(made.live, {
          role: this.invoker,
          deadLetterQueue: this.failed,
          retryAttempts: 0,
          maxEventAge: Duration.seconds(Math.max(60, Math.min(everySeconds, 3600))),
        })
        new Schedule(made, 'Schedule', {
          scheduleGroup: this.schedules,
          schedule: ScheduleExpression.rate(Duration.seconds(everySeconds)),
          target,
        })
      }
      if (receives !== undefined) {
        const queue = new Queue(made, 'Queue', {
          ...encrypted,
          // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html: six times the function's timeout.
          visibilityTimeout: Duration.seconds(6 * worker.timeoutSeconds),
          deadLetterQueue: { queue: this.failed, maxReceiveCount: 5 },
        })
        const topic = { 'mail-events': context.mail.events }[receives]
        // Not an SqsSubscription: it names the topic in the policy of the key, which encrypts the topic.
        new Subscription(made, 'Subscription', {
          topic,
          protocol: SubscriptionProtocol.SQS,
          endpoint: queue.queueArn,
          rawMessageDelivery: true,
          deadLetterQueue: this.failed,
        })
        queue.addToResourcePolicy(
          new PolicyStatement({
            principals: [new ServicePrincipal('sns.amazonaws.com')],
            actions: ['sqs:SendMessage'],
            resources: [queue.queueArn],
            conditions: { ArnEquals: { 'aws:SourceArn': topic.topicArn } },
          }),
        )
        made.live.addEventSource(new SqsEventSource(queue, { reportBatchItemFailures: true, maxConcurrency: 2 }))
      }
      return made
    })
    const migrate = this.named(MIGRATION_WORKER)
    this.migrate = migrate
    migrate.function.node.addDependency(...after)
    this.migrated = new Trigger(this, 'Migrated', {
      handler: migrate.function,
      timeout: PROVIDER_TIMEOUT,
    })
    // Without it, CloudFormation waits an hour for a response of a function that timed out.
    const { defaultChild } = this.migrated.node.findChild('Default').node
    if (!(defaultChild instanceof CfnResource)) throw new Error('the trigger has no resource')
    defaultChild.addPropertyOverride('ServiceTimeout', PROVIDER_TIMEOUT.toSeconds() + 60)
    for (const made of this.functions) if (made !== migrate) made.function.node.addDependency(this.migrated)
  }

  /** Returns the function of a worker. */
  named(name: string): TenantryFunction {
    const found = this.functions.find(({ node }) => node.id === name)
    if (found === undefined) throw new Error(`no worker is named ${name}`)
    return found
  }

  /** Creates the role of the schedules. Only those of this stage may assume it. */
  private scheduleRole(): Role {
    const conditions = {
      StringEquals: {
        'aws:SourceAccount': Stack.of(this).account,
        'aws:SourceArn': this.schedules.scheduleGroupArn,
      },
    }
    return new Role(this, 'ScheduleRole', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', { conditions }),
      description: 'The schedules of the workers',
    })
  }

  /**
   * Allows a role to use the key of the dead-letter queue, through SQS alone. The CDK leaves it out, and a message that
   * cannot be encrypted is lost.
   * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
   */
  private grantDeadLetters(sender: IRole | undefined, key: IKey): void {
    sender?.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:GenerateDataKey', 'kms:Decrypt'],
        resources: [key.keyArn],
        conditions: {
          StringEquals: { 'kms:ViaService': `sqs.${Stack.of(this).region}.amazonaws.com` },
        },
      }),
    )
  }
}
