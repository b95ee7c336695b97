import { CfnOutput, Fn, Stack } from 'aws-cdk-lib'
import { type ISecurityGroup, SubnetType, type Vpc } from 'aws-cdk-lib/aws-ec2'
import {
  Cluster,
  ContainerImage,
  CpuArchitecture,
  ExecuteCommandLogging,
  FargateTaskDefinition,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
  Secret,
} from 'aws-cdk-lib/aws-ecs'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'
import { type LogKeeping, logGroup } from './logs.ts'

// With psql of the cluster's major version.
const IMAGE = 'public.ecr.aws/docker/library/postgres:17'
const OPEN_FOR_SECONDS = 3600

/**
 * The way of a person to the database: a task that somebody starts for an hour, with psql and the owner's login. Nothing runs and
 * nothing listens until then. What is typed and shown goes to the log group `/tenantry/STAGE/session` (infra/runbook/by-hand.md).
 */
export class Session extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: { stage: string; vpc: Vpc; group: ISecurityGroup; owner: ISecret; logs: LogKeeping },
  ) {
    super(scope, id)
    const { stage, vpc, group, owner, logs } = props
    const name = `tenantry-${stage}-session`
    const transcript = logGroup(this, 'Transcript', logs, `/tenantry/${stage}/session`)
    new Cluster(this, 'Cluster', {
      clusterName: name,
      vpc,
      executeCommandConfiguration: {
        logging: ExecuteCommandLogging.OVERRIDE,
        logConfiguration: { cloudWatchLogGroup: transcript, cloudWatchEncryptionEnabled: true },
      },
    })
    const role = this.role()
    transcript.grant(role, 'logs:CreateLogStream', 'logs:DescribeLogStreams', 'logs:PutLogEvents')
    const task = new FargateTaskDefinition(this, 'Task', {
      family: name,
      cpu: 256,
      memoryLimitMiB: 512,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
      taskRole: role,
      executionRole: role,
    })
    const fromSecret = (field: string): Secret => Secret.fromSecretsManager(owner, field)
    task.addContainer('psql', {
      image: ContainerImage.fromRegistry(IMAGE),
      command: ['sleep', String(OPEN_FOR_SECONDS)],
      user: 'postgres',
      linuxParameters: new LinuxParameters(this, 'Init', { initProcessEnabled: true }),
      logging: LogDrivers.awsLogs({ logGroup: transcript, streamPrefix: 'task' }),
      secrets: {
        PGHOST: fromSecret('host'),
        PGDATABASE: fromSecret('dbname'),
        PGUSER: fromSecret('username'),
        PGPASSWORD: fromSecret('password'),
      },
    })
    const { subnetIds } = vpc.selectSubnets({ subnetType: SubnetType.PRIVATE_WITH_EGRESS })
    new CfnOutput(Stack.of(this), 'SessionNetwork', {
      value: `awsvpcConfiguration={subnets=[${Fn.join(',', subnetIds)}],securityGroups=[${group.securityGroupId}]}`,
    })
  }

  /** Returns the role of the task. It may read the owner's secret, and carry what a person types and sees. */
  private role(): Role {
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com') })
    // https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-exec.html
    role.addToPolicy(
      new PolicyStatement({
        actions: [
          'ssmmessages:CreateControlChannel',
          'ssmmessages:CreateDataChannel',
          'ssmmessages:OpenControlChannel',
          'ssmmessages:OpenDataChannel',
          'logs:DescribeLogGroups',
        ],
        resources: ['*'],
      }),
    )
    return role
  }
}
