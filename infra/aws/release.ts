import { type CfnUpdatePolicy, Stack } from 'aws-cdk-lib'
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnApplication, CfnDeploymentGroup, LambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type Alias, CfnAlias } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { functionPrefix } from './function.ts'
import { chunks } from './metrics.ts'

// Lambda accepts 15 requests of its control plane in a second, for the account and Region, and never more
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html). CodeDeploy makes three for an alias when it starts.
const WAVE = 5

/**
 * Moves the alias of each function that serves requests to a new version in two steps: 10 % of the invocations, and after five
 * minutes the others. If an alarm goes off before, CodeDeploy moves all of them back, and CloudFormation rolls the deployment
 * back. The aliases move in waves of five, in the order of `groups`, then `callers`, which invoke them. The aliases in `after` move
 * last, each in one step.
 */
export class Release extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      stage: string
      groups: readonly Alias[]
      callers: readonly Alias[]
      after: readonly Alias[]
      alarms: readonly Alarm[]
    },
  ) {
    super(scope, id)
    const { stage, groups, callers, after, alarms } = props
    const application = new CfnApplication(this, 'Application', { computePlatform: 'Lambda' })
    const { partition, region, account } = Stack.of(this)
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': account } },
      }),
      description: 'Moves the aliases of the functions',
    })
    role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }))
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
        // The first and the last name a function, the second an alias or a version: NAME:live.
        resources: [`arn:${partition}:lambda:${region}:${account}:function:${functionPrefix(stage)}*`],
      }),
    )
    const deploymentGroup = (alias: Alias) => {
      const { scope: lambda, id: name } = alias.node
      const group = new CfnDeploymentGroup(this, `${lambda?.node.id}${name === 'Live' ? '' : `-${name}`}`, {
        applicationName: application.ref,
        serviceRoleArn: role.roleArn,
        deploymentConfigName: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES.deploymentConfigName,
        deploymentStyle: { deploymentType: 'BLUE_GREEN', deploymentOption: 'WITH_TRAFFIC_CONTROL' },
        alarmConfiguration: { enabled: true, alarms: alarms.map(({ alarmName: name }) => ({ name })) },
        autoRollbackConfiguration: {
          enabled: true,
          events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_STOP_ON_REQUEST'],
        },
      })
      group.node.addDependency(role)
      const codeDeployLambdaAliasUpdate = { applicationName: application.ref, deploymentGroupName: group.ref }
      resourceOf(alias).cfnOptions.updatePolicy = { codeDeployLambdaAliasUpdate } satisfies CfnUpdatePolicy
    }
    for (const alias of [...groups, ...callers]) deploymentGroup(alias)
    const waves = [...chunks(groups, WAVE), ...chunks(callers, WAVE), after].filter(({ length }) => length > 0)
    for (const [index, wave] of waves.entries())
      for (const alias of wave)
        for (const before of waves[index - 1] ?? []) resourceOf(alias).addResourceDependency(resourceOf(before))
  }
}

function resourceOf(alias: Alias): CfnAlias {
  const { defaultChild } = alias.node
  if (!(defaultChild instanceof CfnAlias)) throw new Error(`${alias.node.path} has no CfnAlias`)
  return defaultChild
}
