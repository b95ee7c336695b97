import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'

/** How a stage keeps its logs: encrypted, and for so many days. */
export interface LogKeeping {
  readonly key: IKey
  readonly days: number
  readonly keep: boolean
}

/** A log group of the stage. */
export const logGroup = (
  scope: Construct,
  id: string,
  { key, days, keep }: LogKeeping,
  logGroupName?: string,
): LogGroup =>
  new LogGroup(scope, id, {
    ...(logGroupName === undefined ? {} : { logGroupName }),
    encryptionKey: key,
    // Every number in stages.ts is one that CloudWatch takes.
    retention: days,
    removalPolicy: keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  })
