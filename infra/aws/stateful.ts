/**
 * The types whose resources hold what another one would not have, and the properties that decide which one it is. Another value of one
 * of them makes CloudFormation create a new resource in place of the old one.
 * The create-only properties are those of the schemas in @aws/cloudformation-validate 1.14 (rule I9001). Three lists have more:
 * a KMS key cannot change its kind (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-kms-key.html), and
 * another way of generating a secret generates another value
 * (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-secretsmanager-secret.html).
 */
export const STATEFUL: Readonly<Record<string, readonly string[]>> = {
  'AWS::Backup::BackupVault': ['BackupVaultName', 'EncryptionKeyArn'],
  'AWS::EC2::Subnet': [
    'AvailabilityZone',
    'AvailabilityZoneId',
    'CidrBlock',
    'Ipv4IpamPoolId',
    'Ipv4NetmaskLength',
    'Ipv6CidrBlock',
    'Ipv6Native',
    'OutpostArn',
    'VpcId',
  ],
  'AWS::EC2::VPC': ['CidrBlock', 'InstanceTenancy', 'Ipv4IpamPoolId', 'Ipv4NetmaskLength'],
  'AWS::Events::Archive': ['ArchiveName', 'SourceArn'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion', 'Origin'],
  'AWS::RDS::DBCluster': [
    'AvailabilityZones',
    'ClusterScalabilityType',
    'DBClusterIdentifier',
    'DBSubnetGroupName',
    'DBSystemId',
    'DatabaseName',
    'Engine',
    'EngineMode',
    'GlobalClusterIdentifier',
    'KmsKeyId',
    'MasterUsername',
    'PubliclyAccessible',
    'RestoreToTime',
    'RestoreType',
    'SnapshotIdentifier',
    'SourceDBClusterIdentifier',
    'SourceDbClusterResourceId',
    'SourceRegion',
    'StorageEncrypted',
    'UseLatestRestorableTime',
  ],
  'AWS::RDS::DBSubnetGroup': ['DBSubnetGroupName'],
  'AWS::SES::EmailIdentity': ['EmailIdentity'],
  'AWS::SecretsManager::Secret': ['GenerateSecretString', 'Name', 'SecretString'],
}

/** Of the secrets only these: the others hold what a deployment or an operator sets again. */
const SECRETS = /^Secrets(Pepper|MailKey)[0-9A-F]{8}$/

/** Returns whether a resource of a stage holds what another one would not have. */
export const isStateful = (id: string, type: string): boolean =>
  Object.hasOwn(STATEFUL, type) && (type !== 'AWS::SecretsManager::Secret' || SECRETS.test(id))

/** A stateful resource: its type, and those of its deciding properties that are set. */
export interface Stateful {
  readonly Type: string
  readonly [property: string]: unknown
}

type Resources = Readonly<
  Record<string, { readonly Type: string; readonly Properties?: Readonly<Record<string, unknown>> }>
>

/** Returns the stateful resources of a template by their logical ids. */
export const statefulOf = (resources: Resources): Readonly<Record<string, Stateful>> =>
  Object.fromEntries(
    Object.entries(resources)
      .filter(([id, { Type }]) => isStateful(id, Type))
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([id, { Type, Properties = {} }]) => {
        const set = (STATEFUL[Type] ?? []).filter((name) => Properties[name] !== undefined)
        return [id, { Type, ...Object.fromEntries(set.map((name) => [name, Properties[name]])) }]
      }),
  )

/**
 * Returns the stack policy that forbids CloudFormation to replace or delete a stateful resource, and to update its secrets, whatever the
 * template says
 * (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html). `ids` are all stateful resources.
 */
export function stackPolicy(ids: readonly string[]): object {
  const types = Object.keys(STATEFUL).filter((type) => type !== 'AWS::SecretsManager::Secret')
  const forbidden = { Effect: 'Deny', Principal: '*', Action: ['Update:Replace', 'Update:Delete'] }
  const secrets = [...new Set(ids.filter((id) => SECRETS.test(id)))].toSorted()
  return {
    Statement: [
      { Effect: 'Allow', Principal: '*', Action: 'Update:*', Resource: '*' },
      { ...forbidden, Resource: '*', Condition: { StringEquals: { ResourceType: types } } },
      // A generated secret that is updated may get another value without being replaced.
      { ...forbidden, Action: 'Update:*', Resource: secrets.map((id) => `LogicalResourceId/${id}`) },
    ],
  }
}
