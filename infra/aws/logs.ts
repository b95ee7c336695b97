import { CfnResource, RemovalPolicy, type Stack } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { CfnFunction } from 'aws-cdk-lib/aws-lambda'
import { type ILogGroup, LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'

/** How a stage encrypts and retains its logs. */
export interface LogKeeping {
  readonly key: IKey
  readonly days: number
  readonly keep: boolean
}

/**
 * Keeps a resource when it is removed from its stack, but not when the deployment that creates it fails: then its name would be
 * taken at the next try.
 */
export const KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE

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
    removalPolicy: keep ? KEPT : RemovalPolicy.DESTROY,
  })

/**
 * Sends the logs of the functions that the CDK adds to a group. Otherwise Lambda creates a group for each, unencrypted and
 * without expiry. Call it when all other resources exist.
 */
export function logOtherFunctions(stack: Stack, group: ILogGroup): void {
  for (const resource of stack.node.findAll()) {
    if (!(resource instanceof CfnResource) || resource.cfnResourceType !== 'AWS::Lambda::Function') continue
    if (resource instanceof CfnFunction && resource.loggingConfig !== undefined) continue
    resource.addPropertyOverride('LoggingConfig.LogGroup', group.logGroupName)
  }
}
