import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib'
import { BackupVault } from 'aws-cdk-lib/aws-backup'
import { PolicyDocument } from 'aws-cdk-lib/aws-iam'
import { CfnReplicaKey, Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { noGrants, vaultAdministration } from './keys.ts'
import { KEPT } from './logs.ts'
import { KEPT_FOR } from './recovery.ts'

const PENDING = Duration.days(30)

export interface SecondRegionProps extends StackProps {
  readonly stage: string
  /** The ARN of the stage's vault key, a multi-Region key of another Region. */
  readonly vaultKeyArn: string
}

/**
 * What must be in another Region before that of a stage is lost: a replica of the vault key, which nobody may use until its policy allows a
 * role, and a vault with a key of its own for the daily copies of the database. Both outlive the stack.
 */
export class SecondRegion extends Stack {
  constructor(scope: Construct, id: string, { stage, vaultKeyArn, ...props }: SecondRegionProps) {
    super(scope, id, {
      ...props,
      description: `What the stage ${stage} needs in another Region before its own is lost`,
    })
    const replica = new CfnReplicaKey(this, 'VaultKey', {
      primaryKeyArn: vaultKeyArn,
      description: 'Tenantry: the data keys of the tenants, replica',
      pendingWindowInDays: PENDING.toDays(),
      keyPolicy: new PolicyDocument({ statements: [vaultAdministration(), noGrants()] }),
    })
    replica.applyRemovalPolicy(KEPT)
    const key = new Key(this, 'BackupKey', {
      description: 'Tenantry: copies of the database',
      enableKeyRotation: true,
      pendingWindow: PENDING,
      removalPolicy: KEPT,
    })
    key.addToResourcePolicy(noGrants())
    const vault = new BackupVault(this, 'Backups', {
      // A name of ours: cdk.json names the vault before it exists.
      backupVaultName: `tenantry-${stage}`,
      encryptionKey: key,
      removalPolicy: KEPT,
      lockConfiguration: { minRetention: KEPT_FOR },
    })
    new CfnOutput(this, 'VaultKeyReplica', { value: replica.attrArn })
    new CfnOutput(this, 'BackupVault', { value: vault.backupVaultArn })
  }
}
