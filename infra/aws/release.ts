import { type CfnUpdatePolicy, Stack } from 'aws-cdk-lib'
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnApplication, CfnDeploymentGroup, LambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { CfnAlias } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { TenantryFunction } from './function.ts'

/**
 * Moves the alias of each function to a new version in two steps: 10 % of the invocations, and after five minutes the others.
 * If an alarm goes off before, CodeDeploy moves all of them back, and CloudFormation rolls the deployment back.
 */
export class Release extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { functions, alarms }: { functions: readonly TenantryFunction[]; alarms: readonly Alarm[] },
  ) {
    super(scope, id)
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
        resources: functions.map(
          ({ functionName: name }) => `arn:${partition}:lambda:${region}:${account}:function:${name}`,
        ),
      }),
    )
    for (const { live, node } of functions) {
      const group = new CfnDeploymentGroup(this, node.id, {
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
      const { defaultChild } = live.node
      if (!(defaultChild instanceof CfnAlias)) throw new Error(`${node.id} has no alias`)
      const codeDeployLambdaAliasUpdate = { applicationName: application.ref, deploymentGroupName: group.ref }
      defaultChild.cfnOptions.updatePolicy = { codeDeployLambdaAliasUpdate } satisfies CfnUpdatePolicy
    }
  }
}
