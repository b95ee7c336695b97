import { describe, expect, it } from 'vitest'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { type Synthesized, synthesized } from './synthesized.ts'
import { COPY_VAULT, functionsOf, other, prod, SNAPSHOT } from './two-stages.ts'

describe('stored data', () => {
  it('includes the logs of every function, also of those that the CDK adds', () => {
    for (const stage of [prod, other])
      for (const { Properties } of stage.ofType('AWS::Lambda::Function'))
        expect(stage.referred(Properties.LoggingConfig.LogGroup).Type).toBe('AWS::Logs::LogGroup')
  })

  it('is encrypted with keys of the stage, which rotate', () => {
    for (const stage of [prod, other]) {
      for (const key of stage.ofType('AWS::KMS::Key')) expect(key.Properties.EnableKeyRotation).toBe(true)
      const by = (property: unknown) => stage.named(property)
      for (const { Properties } of stage.ofType('AWS::Logs::LogGroup'))
        expect([by(Properties.KmsKeyId), typeof Properties.RetentionInDays]).toEqual(['KeysService', 'number'])
      for (const { Properties } of stage.ofType('AWS::SecretsManager::Secret'))
        expect(by(Properties.KmsKeyId)).toBe('KeysService')
      for (const { Properties } of stage.ofType('AWS::SQS::Queue'))
        expect(by(Properties.KmsMasterKeyId)).toBe('KeysService')
      for (const { Properties } of stage.ofType('AWS::SNS::Topic'))
        expect(by(Properties.KmsMasterKeyId)).toBe('KeysService')
      const cluster = stage.one('AWS::RDS::DBCluster').Properties
      expect([cluster.StorageEncrypted, by(cluster.KmsKeyId)]).toEqual([true, 'KeysDatabase'])
      expect(stage.ofType('AWS::S3::Bucket')).toEqual([])
    }
  })

  /** What CloudFormation does with each resource that states it, by type and name, when it leaves the stack. */
  const policies = ({ resources }: Synthesized) =>
    new Set(
      [...resources].flatMap(([id, { Type, DeletionPolicy, UpdateReplacePolicy }]) => {
        const name =
          Type === 'AWS::SecretsManager::Secret'
            ? ` ${id.replace(/^tenantryprod|Secret[0-9A-F]{8}\w*$|[0-9A-F]{8}$/g, '')}`
            : ''
        return DeletionPolicy === undefined ? [] : [`${Type}${name}: ${DeletionPolicy}, ${UpdateReplacePolicy}`]
      }),
    )
  const REPLACEABLE = [
    'AWS::RDS::DBInstance: Delete, Delete',
    'AWS::SQS::Queue: Delete, Delete',
    'AWS::Scheduler::ScheduleGroup: Delete, Delete',
    ...['DatabaseCluster', ...SERVICE_ROLES.map((role) => `DatabaseRole${role}`)].map(
      (id) => `AWS::SecretsManager::Secret ${id}: Delete, Delete`,
    ),
    'Custom::Trigger: Delete, Delete',
    'Custom::VpcRestrictDefaultSG: Delete, Delete',
    // They belong to the account, and other APIs in it may use them.
    'AWS::ApiGateway::Account: Retain, Retain',
    'AWS::IAM::Role: Retain, Retain',
  ]

  it('survives the deletion of the stack, and goes with a first deployment that fails, so that it can be repeated', () => {
    expect([...policies(prod)].toSorted()).toEqual(
      [
        ...REPLACEABLE,
        'AWS::RDS::DBCluster: Snapshot, Snapshot',
        'AWS::KMS::Key: RetainExceptOnCreate, Retain',
        'AWS::Logs::LogGroup: RetainExceptOnCreate, Retain',
        ...['SecretsCache', 'SecretsFactorKey', 'SecretsMailKey', 'SecretsPepper', 'SecretsProbe', 'SecretsWebKey'].map(
          (id) => `AWS::SecretsManager::Secret ${id}: RetainExceptOnCreate, Retain`,
        ),
      ].toSorted(),
    )
    expect(prod.one('AWS::RDS::DBCluster').Properties.BackupRetentionPeriod).toBe(35)
    expect([...policies(other)].filter((policy) => policy.includes('Retain')).toSorted()).toEqual(
      REPLACEABLE.filter((policy) => policy.includes('Retain')).toSorted(),
    )
  })

  it('is protected from deletion once the stage has launched, and not before', async () => {
    const launched = await synthesized('prod', { addresses: { launched: true } })
    const protectedBy = (stage: Synthesized) => [
      stage.terminationProtection,
      stage.one('AWS::RDS::DBCluster').Properties.DeletionProtection,
    ]
    expect([prod, launched, other].map(protectedBy)).toEqual([
      [false, false],
      [true, true],
      [false, false],
    ])
  })

  it('is protected by database passwords that rotate, each once its role exists', () => {
    const rotated = prod.ofType('AWS::SecretsManager::RotationSchedule')
    expect(rotated.map(({ Properties }) => prod.named(Properties.SecretId)).toSorted()).toEqual(
      ['DatabaseClusterSecretAttachment', ...SERVICE_ROLES.map((role) => `DatabaseRole${role}Attachment`)].toSorted(),
    )
    for (const { Properties } of rotated) expect(Properties.RotateImmediatelyOnUpdate).toBe(false)
    const rotating = functionsOf(prod, 'prod').get('rotate-password')
    for (const { Properties, DependsOn = [] } of rotated) {
      expect(prod.referred(Properties.RotationLambdaARN)).toBe(rotating)
      // Secrets Manager invokes the function when the schedule is created.
      for (const first of ['JobsMigrated', 'DatabaseRotationPermission'])
        expect(
          DependsOn.some((id) => id.startsWith(first)),
          first,
        ).toBe(true)
    }
  })

  it('includes a generated pepper and a different mail key, and no template contains them', () => {
    for (const [id, field] of [
      ['SecretsPepper', 'pepper'],
      ['SecretsMailKey', 'mail_key'],
      ['SecretsFactorKey', 'factor_key'],
    ] as const)
      expect(prod.one('AWS::SecretsManager::Secret', id).Properties.GenerateSecretString).toMatchObject({
        SecretStringTemplate: '{}',
        GenerateStringKey: field,
        PasswordLength: 64,
      })
    for (const { Properties } of prod.ofType('AWS::SecretsManager::Secret'))
      expect(Properties.SecretString).toBeUndefined()
  })
})

describe('recovery', () => {
  it('copies each daily backup to the vaults of cdk.json, whose accounts may decrypt it', () => {
    const { BackupPlan } = other.one('AWS::Backup::BackupPlan').Properties
    expect(BackupPlan.BackupPlanRule[0].CopyActions).toMatchObject([{ DestinationBackupVaultArn: COPY_VAULT }])
    expect(other.one('AWS::Backup::BackupSelection').Properties.BackupSelection.Resources).toHaveLength(1)
    const policy = other.one('AWS::KMS::Key', 'KeysDatabase').Properties.KeyPolicy
    expect(JSON.stringify(policy)).toContain(':iam::210987654321:root')
    expect(prod.ofType('AWS::Backup::BackupPlan')).toEqual([])
  })

  it('has in another Region what the data needs: a replica of pepper and mail key, and a vault key that may get one', () => {
    for (const id of ['SecretsPepper', 'SecretsMailKey', 'SecretsFactorKey']) {
      const { ReplicaRegions } = other.one('AWS::SecretsManager::Secret', id).Properties
      expect(ReplicaRegions).toEqual([{ Region: 'us-west-2' }])
    }
    const multiRegion = [prod, other].map((stage) => stage.one('AWS::KMS::Key', 'KeysVault').Properties.MultiRegion)
    expect(multiRegion).toEqual([true, false])
  })

  it('begins with a snapshot that cdk.json names, under the owner’s new password', () => {
    const { SnapshotIdentifier, DatabaseName, MasterUserPassword } = other.one('AWS::RDS::DBCluster').Properties
    expect([SnapshotIdentifier, DatabaseName]).toEqual([SNAPSHOT, undefined])
    expect(MasterUserPassword).toBeDefined()
    expect(prod.one('AWS::RDS::DBCluster').Properties.SnapshotIdentifier).toBeUndefined()
  })
})
