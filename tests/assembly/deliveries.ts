import { type AwsCall, AWS_ACCOUNT, AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { policiesOf } from './policies.ts'
import { type Assembly, declaredFunctions, ofType, type Resolve } from './template.ts'

/** What AWS sends for the stage: as one of its roles, or in the name of a service. */
interface Delivery {
  readonly sender: { readonly role: string } | { readonly service: string }
  readonly calls: readonly Omit<AwsCall, 'principal'>[]
}

/**
 * Returns what AWS could not deliver: each event, alarm and message between the resources of a template that a policy denies.
 * Nobody sees these calls fail: the message is lost. An encrypted queue or topic also needs the use of its key.
 */
export function undeliverable(assembly: Assembly, resolve: Resolve): string[] {
  const policies = policiesOf(assembly, resolve)
  return deliveries(assembly, resolve).flatMap(({ sender, calls }) =>
    calls.flatMap((call) => {
      const name = 'role' in sender ? sender.role : sender.service
      const asked = { ...call, principal: name }
      const allowed = 'role' in sender ? policies.roleMay(name, asked) : policies.serviceMay(name, asked)
      return allowed ? [] : [`${name} is not authorized to perform ${call.action} on ${call.resource}`]
    }),
  )
}

function deliveries(assembly: Assembly, resolve: Resolve): Delivery[] {
  const arnOf = (id: string) => resolve({ 'Fn::GetAtt': [id, 'Arn'] }, id)
  const queueKeys = new Map(
    ofType(assembly, 'AWS::SQS::Queue').map(([id, { KmsMasterKeyId }]) => [arnOf(id), KmsMasterKeyId]),
  )
  const topicKeys = new Map(
    ofType(assembly, 'AWS::SNS::Topic').map(([id, { KmsMasterKeyId }]) => [resolve({ Ref: id }, id), KmsMasterKeyId]),
  )
  const encrypt = (key: unknown, context: AwsCall['context'], actions: readonly string[]) =>
    key === undefined
      ? []
      : actions.map((action) => ({ action, resource: resolve(key, 'a key'), context: { ...TLS, ...context } }))
  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
  const toQueue = (queue: unknown, sender: Delivery['sender'], source: AwsCall['context'] = {}): Delivery => {
    const resource = resolve(queue, 'a queue')
    // A role's own rights count when SQS uses the key for it.
    const via = 'role' in sender ? { 'kms:ViaService': `sqs.${AWS_REGION}.amazonaws.com` } : source
    return {
      sender,
      calls: [
        { action: 'sqs:SendMessage', resource, context: { ...TLS, ...source } },
        ...encrypt(queueKeys.get(resource), via, ['kms:GenerateDataKey', 'kms:Decrypt']),
      ],
    }
  }
  // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
  const toTopic = (topic: unknown, service: string, arn: string): Delivery => {
    const resource = resolve(topic, 'a topic')
    const context = { ...TLS, 'aws:SourceAccount': AWS_ACCOUNT, 'aws:SourceArn': arn }
    return {
      sender: { service },
      calls: [
        { action: 'sns:Publish', resource, context },
        ...encrypt(topicKeys.get(resource), context, ['kms:GenerateDataKey', 'kms:Decrypt']),
      ],
    }
  }
  const ours = (kind: string, rest: string) => `arn:aws:${kind}:${AWS_REGION}:${AWS_ACCOUNT}:${rest}`

  return [
    // Lambda sends the event of a failed run as the function's role.
    ...ofType(assembly, 'AWS::Lambda::Function').flatMap(([, { Role, DeadLetterConfig }]) =>
      DeadLetterConfig === undefined ? [] : [toQueue(DeadLetterConfig.TargetArn, { role: Role['Fn::GetAtt'][0] })],
    ),
    ...ofType(assembly, 'AWS::Scheduler::Schedule').flatMap(([id, { Target }]) => {
      const sender = { role: Target.RoleArn['Fn::GetAtt'][0] }
      const call = { action: 'lambda:InvokeFunction', resource: resolve(Target.Arn, id), context: TLS }
      return [{ sender, calls: [call] }, toQueue(Target.DeadLetterConfig.Arn, sender)]
    }),
    ...ofType(assembly, 'AWS::CloudWatch::Alarm').flatMap(([, { AlarmName, AlarmActions = [] }]) =>
      AlarmActions.map((topic: unknown) =>
        toTopic(topic, 'cloudwatch.amazonaws.com', ours('cloudwatch', `alarm:${AlarmName}`)),
      ),
    ),
    ...ofType(assembly, 'AWS::SES::ConfigurationSetEventDestination').map(([id, properties]) => {
      const set = resolve(properties.ConfigurationSetName, id)
      const { TopicARN } = properties.EventDestination.SnsDestination
      return toTopic(TopicARN, 'ses.amazonaws.com', ours('ses', `configuration-set/${set}`))
    }),
    ...ofType(assembly, 'AWS::SNS::Subscription').flatMap(([id, { Protocol, Endpoint, TopicArn, RedrivePolicy }]) =>
      [
        ...(Protocol === 'sqs' ? [Endpoint] : []),
        ...(RedrivePolicy === undefined ? [] : [RedrivePolicy.deadLetterTargetArn]),
      ].map((queue) => toQueue(queue, { service: 'sns.amazonaws.com' }, { 'aws:SourceArn': resolve(TopicArn, id) })),
    ),
    // The bus encrypts events, and sends those that it cannot to its queue.
    ...ofType(assembly, 'AWS::Events::EventBus').flatMap(([id, { KmsKeyIdentifier, DeadLetterConfig }]) => {
      const sender = { service: 'events.amazonaws.com' }
      const context = { 'aws:SourceAccount': AWS_ACCOUNT, 'aws:SourceArn': arnOf(id) }
      const calls = encrypt(KmsKeyIdentifier, context, ['kms:DescribeKey', 'kms:GenerateDataKey', 'kms:Decrypt'])
      return [{ sender, calls }, toQueue(DeadLetterConfig.Arn, sender, context)]
    }),
    ...ofType(assembly, 'AWS::Events::Archive').map(([id, { KmsKeyIdentifier, SourceArn }]) => ({
      sender: { service: 'events.amazonaws.com' },
      calls: encrypt(KmsKeyIdentifier, { 'aws:SourceAccount': AWS_ACCOUNT, 'aws:SourceArn': resolve(SourceArn, id) }, [
        'kms:DescribeKey',
        'kms:GenerateDataKey',
        'kms:Decrypt',
        'kms:ReEncryptFrom',
        'kms:ReEncryptTo',
      ]),
    })),
    // Lambda receives the messages of a queue as the function's role.
    ...ofType(assembly, 'AWS::Lambda::EventSourceMapping').map(([id, { FunctionName, EventSourceArn }]) => {
      const name = resolve(FunctionName, id).split(':').at(-2) ?? ''
      const resource = resolve(EventSourceArn, id)
      const actions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes']
      return {
        sender: { role: declaredFunctions(assembly).get(name)?.role ?? '' },
        calls: [
          ...actions.map((action) => ({ action, resource, context: TLS })),
          ...encrypt(queueKeys.get(resource), { 'kms:ViaService': `sqs.${AWS_REGION}.amazonaws.com` }, ['kms:Decrypt']),
        ],
      }
    }),
  ]
}

const TLS = { 'aws:SecureTransport': 'true' }
