import { Duration, Stack } from 'aws-cdk-lib'
import { Archive, EventBus } from 'aws-cdk-lib/aws-events'
import { AccountPrincipal, type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { Construct } from 'constructs'

const SOURCE = 'tenantry'
const RULE_ACTIONS = [
  'DeleteRule',
  'DescribeRule',
  'DisableRule',
  'EnableRule',
  'PutRule',
  'PutTargets',
  'RemoveTargets',
]

/** The bus for the platform's other services, its archive, and the queue for events that the bus could not encrypt or decrypt. */
export class Events extends Construct {
  readonly bus: EventBus
  readonly failed: Queue

  constructor(
    scope: Construct,
    id: string,
    { stage, key, readers }: { stage: string; key: IKey; readers: readonly string[] },
  ) {
    super(scope, id)
    this.failed = new Queue(this, 'Failed', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    })
    // The key's own policy allows EventBridge (keys.ts). A statement that names the bus, which the CDK would add, makes a circle.
    const kmsKey = Key.fromKeyArn(this, 'Key', key.keyArn)
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `tenantry-${stage}`,
      description: 'Changes of tenants, memberships, users and what tenants own',
      kmsKey,
      deadLetterQueue: this.failed,
    })
    this.failed.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('events.amazonaws.com')],
        actions: ['sqs:SendMessage'],
        resources: [this.failed.queueArn],
        conditions: { ArnEquals: { 'aws:SourceArn': this.bus.eventBusArn } },
      }),
    )
    // Not `bus.archive`: it leaves out the key.
    new Archive(this, 'Archive', {
      sourceEventBus: this.bus,
      archiveName: `tenantry-${stage}`,
      description: 'For replays to a consumer that failed',
      eventPattern: { source: [SOURCE] },
      retention: Duration.days(90),
      kmsKey,
    })
    if (readers.length > 0) this.allowRules(readers)
    new StringParameter(this, 'Name', {
      parameterName: `/tenantry/${stage}/event-bus-name`,
      description: 'The event bus for the other services of the platform',
      stringValue: this.bus.eventBusName,
    })
  }

  /**
   * Lets other accounts make rules on the bus for the events of this service, and change only their own:
   * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-example-policy-same-account-creator.html
   */
  private allowRules(accounts: readonly string[]): void {
    const { partition, region, account } = Stack.of(this)
    this.bus.addToResourcePolicy(
      new PolicyStatement({
        sid: 'rules-of-other-accounts',
        principals: accounts.map((id) => new AccountPrincipal(id)),
        actions: RULE_ACTIONS.map((action) => `events:${action}`),
        resources: [`arn:${partition}:events:${region}:${account}:rule/${this.bus.eventBusName}/*`],
        conditions: {
          StringEqualsIfExists: { 'events:creatorAccount': '${aws:PrincipalAccount}', 'events:source': SOURCE },
        },
      }),
    )
  }

  /** Allows a role to put events of this service, and no other source, on the bus. */
  grantPublish(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['events:PutEvents'],
        resources: [this.bus.eventBusArn],
        conditions: { StringEquals: { 'events:source': SOURCE } },
      }),
    )
  }
}
