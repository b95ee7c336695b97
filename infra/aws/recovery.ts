import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib'
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from 'aws-cdk-lib/aws-backup'
import { Schedule } from 'aws-cdk-lib/aws-events'
import { AccountPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { Construct } from 'constructs'
import type { Database } from './database.ts'
import type { Keys } from './keys.ts'
import { KEPT } from './logs.ts'
import type { Watched } from './metrics.ts'

export const KEPT_FOR = Duration.days(35)

/**
 * Daily backups of the database in a vault of AWS Backup, and a copy of each in other vaults: in another Region, which outlives
 * a Region, and in another account, which outlives a thief with rights in this one.
 */
export class Recovery extends Construct {
  readonly backups: NonNullable<Watched['backups']>

  constructor(
    scope: Construct,
    id: string,
    props: { database: Database; keys: Keys; copyTo: readonly string[]; keep: boolean },
  ) {
    super(scope, id)
    const { database, keys, copyTo, keep } = props
    const backupVault = new BackupVault(this, 'Vault', {
      encryptionKey: keys.database,
      removalPolicy: keep ? KEPT : RemovalPolicy.DESTROY,
      // Governance mode: only who may change the lock can delete a backup before.
      ...(keep ? { lockConfiguration: { minRetention: KEPT_FOR } } : {}),
    })
    this.backups = { vaultName: backupVault.backupVaultName, copied: copyTo.length > 0 }
    const plan = new BackupPlan(this, 'Plan', { backupVault })
    plan.addRule(
      new BackupPlanRule({
        ruleName: 'daily',
        // Outside the windows of Aurora's own backup and of maintenance.
        scheduleExpression: Schedule.cron({ hour: '10', minute: '30' }),
        deleteAfter: KEPT_FOR,
        copyActions: copyTo.map((arn, index) => ({
          destinationBackupVault: BackupVault.fromBackupVaultArn(this, `Copy${index + 1}`, arn),
          deleteAfter: KEPT_FOR,
        })),
      }),
    )
    const selection = plan.addSelection('Database', {
      resources: [BackupResource.fromArn(database.cluster.clusterArn)],
    })
    Validations.of(selection).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]',
      reason: 'AWS keeps this policy in step with what AWS Backup needs',
    })
    // The account of a copy decrypts the backup with this key, and encrypts the copy with its own.
    for (const account of new Set(copyTo.map((arn) => arn.split(':')[4] ?? '')))
      keys.database.addToResourcePolicy(
        new PolicyStatement({
          principals: [new AccountPrincipal(account)],
          actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:GenerateDataKey*', 'kms:ReEncrypt*', 'kms:CreateGrant'],
          resources: ['*'],
        }),
      )
  }
}
