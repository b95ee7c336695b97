import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import {
  AccountRootPrincipal,
  AnyPrincipal,
  Effect,
  type IRole,
  PolicyDocument,
  PolicyStatement,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam'
import { Key, type KeyProps } from 'aws-cdk-lib/aws-kms'
import { Construct } from 'constructs'
import { KEPT } from './logs.ts'

/** Every use of the vault key must name these, so that a data key decrypts only for its own tenant and purpose. */
const VAULT_CONTEXT = ['tenant_id', 'purpose', 'service']
const VAULT_SERVICE = 'tenantry'

const VAULT_ACTIONS = {
  decrypt: ['kms:Decrypt'],
  generate: ['kms:GenerateDataKey'],
  rewrap: ['kms:ReEncryptFrom', 'kms:ReEncryptTo'],
}

type VaultUse = keyof typeof VAULT_ACTIONS

const ADMINISTRATION = [
  'kms:CancelKeyDeletion',
  'kms:Describe*',
  'kms:DisableKey',
  'kms:EnableKey*',
  'kms:Get*',
  'kms:List*',
  'kms:PutKeyPolicy',
  'kms:ReplicateKey',
  'kms:RotateKeyOnDemand',
  'kms:ScheduleKeyDeletion',
  'kms:TagResource',
  'kms:UntagResource',
  'kms:UpdateKeyDescription',
  'kms:UpdatePrimaryRegion',
]

/** Who may administer a vault key. Not the default policy: under it, any IAM policy in the account could grant use of the key. */
export const vaultAdministration = (): PolicyStatement =>
  new PolicyStatement({ principals: [new AccountRootPrincipal()], actions: ADMINISTRATION, resources: ['*'] })

/** A grant would allow use of a key without its policy. AWS services make some for the resources that they encrypt. */
export const noGrants = (): PolicyStatement =>
  new PolicyStatement({
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: ['kms:CreateGrant'],
    resources: ['*'],
    conditions: { BoolIfExists: { 'kms:GrantIsForAWSResource': 'false', 'aws:PrincipalIsAWSService': 'false' } },
  })

/** The KMS keys of a stage. All rotate every year. */
export class Keys extends Construct {
  /** Wraps the tenants' data keys. */
  readonly vault: Key
  /** Encrypts the database, its backups and Database Insights. */
  readonly database: Key
  /** Encrypts secrets, logs, queues and topics. */
  readonly service: Key

  /** The ARN of the key that wraps new data keys. */
  readonly wrapping: string
  private readonly otherVaultKeys: readonly string[]

  constructor(
    scope: Construct,
    id: string,
    props: { keep: boolean; multiRegionVaultKey: boolean; otherVaultKeys?: readonly string[] | undefined },
  ) {
    super(scope, id)
    const { keep, multiRegionVaultKey, otherVaultKeys = [] } = props
    this.otherVaultKeys = otherVaultKeys
    const removalPolicy = keep ? KEPT : RemovalPolicy.DESTROY
    const made = (name: string, props: KeyProps): Key =>
      new Key(this, name, { enableKeyRotation: true, pendingWindow: Duration.days(30), removalPolicy, ...props })
    this.database = made('Database', { description: 'Tenantry: the database' })
    this.service = made('Service', { description: 'Tenantry: secrets, logs, queues and topics' })
    this.vault = made('Vault', {
      description: 'Tenantry: the data keys of the tenants',
      multiRegion: multiRegionVaultKey,
      policy: new PolicyDocument({ statements: [vaultAdministration()] }),
    })
    this.wrapping = otherVaultKeys[0] ?? this.vault.keyArn
    this.allowServices()
    for (const key of [this.database, this.service, this.vault]) key.addToResourcePolicy(noGrants())
  }

  /** Allows a role to use data keys, only with their encryption context. */
  grantVault(role: IRole, uses: readonly VaultUse[]): void {
    const actions = uses.flatMap((use) => VAULT_ACTIONS[use])
    const statement = (principals: IRole[] | undefined, resources: string[]) =>
      new PolicyStatement({
        ...(principals === undefined ? {} : { principals }),
        actions,
        resources,
        conditions: {
          Null: Object.fromEntries(VAULT_CONTEXT.map((key) => [`kms:EncryptionContext:${key}`, 'false'])),
          StringEquals: { 'kms:EncryptionContext:service': VAULT_SERVICE },
        },
      })
    this.vault.addToResourcePolicy(statement([role], ['*']))
    role.addToPrincipalPolicy(statement(undefined, [this.vault.keyArn, ...this.otherVaultKeys]))
  }

  private allowServices(): void {
    const { account, region, partition } = Stack.of(this)
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    this.service.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('logs.amazonaws.com')],
        actions: ['kms:Encrypt*', 'kms:Decrypt*', 'kms:ReEncrypt*', 'kms:GenerateDataKey*'],
        resources: ['*'],
        conditions: {
          ArnLike: { 'kms:EncryptionContext:aws:logs:arn': `arn:${partition}:logs:${region}:${account}:log-group:*` },
        },
      }),
    )
    // https://docs.aws.amazon.com/sns/latest/dg/sns-enable-encryption-for-topic-sqs-queue-subscriptions.html: SNS writes to an
    // encrypted queue.
    this.service.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('sns.amazonaws.com')],
        actions: ['kms:GenerateDataKey*', 'kms:Decrypt'],
        resources: ['*'],
        conditions: { ArnLike: { 'aws:SourceArn': `arn:${partition}:sns:${region}:${account}:*` } },
      }),
    )
    // https://docs.aws.amazon.com/eventbridge/latest/userguide/encryption-archives.html and eb-encryption-event-bus-dlq.html:
    // EventBridge writes to an encrypted bus, archive and dead-letter queue.
    this.service.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('events.amazonaws.com')],
        actions: ['kms:DescribeKey', 'kms:GenerateDataKey*', 'kms:Decrypt', 'kms:ReEncrypt*'],
        resources: ['*'],
        conditions: { StringEquals: { 'aws:SourceAccount': account } },
      }),
    )
    // https://docs.aws.amazon.com/ses/latest/dg/configure-sns-notifications.html: SES writes to an encrypted topic.
    this.service.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('ses.amazonaws.com')],
        actions: ['kms:GenerateDataKey*', 'kms:Decrypt'],
        resources: ['*'],
        conditions: { StringEquals: { 'aws:SourceAccount': account } },
      }),
    )
  }
}
