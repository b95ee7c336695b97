import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'

/** How a stage encrypts and retains its logs. */
export interface LogKeeping {
  readonly key: IKey
  readonly days: number
  readonly keep: boolean
}

/** Creates an encrypted log group. */
export const logGroup = (
  scope: Construct,
  id: string,
  { key, days, keep }: LogKeeping,
  logGroupName?: string,
): LogGroup =>
  new LogGroup(scope, id, {
    ...(logGroupName === undefined ? {} : { logGroupName }),
    encryptionKey: key,
    // CloudWatch accepts only certain numbers of days; all in stages.ts are among them.
    retention: days,
    removalPolicy: keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  })
