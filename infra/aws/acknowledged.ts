import { type Stack, Token, Validations } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'
import type { Stage } from '#infra/stages.ts'
import type { Api } from './api.ts'
import type { Database } from './database.ts'
import type { TenantryFunction } from './function.ts'
import type { Events } from './events.ts'
import type { Workers } from './workers.ts'
import type { Network } from './network.ts'
import type { Operations } from './operations.ts'
import type { Release } from './release.ts'
import type { Secrets } from './secrets.ts'
import type { Session } from './session.ts'

const SOLUTIONS = 'AwsSolutions::AwsSolutions'
const SERVERLESS = 'Serverless::Serverless'
const CONTROL_TOWER = 'cdk-validator-cfnguard::'

/** Control Tower wants logs for a year. */
const YEAR_DAYS = 365

type Accept = (scope: IConstruct, id: string, reason: string) => void

/**
 * Acknowledges the findings of cdk-nag and of the Control Tower rules that are no faults here, each with its reason, on the
 * resource or close to it.
 */
export function acknowledge(
  stack: Stack,
  made: {
    apis: readonly Api[]
    network: Network
    session: Session
    database: Database
    events: Events
    workers: Workers
    operations: Operations
    release: Release | undefined
    secrets: Secrets
    groups: readonly TenantryFunction[]
    stage: string
    config: Stage
    launched: boolean
    restored: boolean
  },
): void {
  const {
    apis,
    network,
    session,
    database,
    events,
    workers,
    operations,
    release,
    secrets,
    groups,
    stage,
    config,
    launched,
    restored,
  } = made
  const { keep, minorUpgrades } = config.database
  const accept = (scope: IConstruct, id: string, reason: string) => Validations.of(scope).acknowledge({ id, reason })
  // A finding names what a stage without account and region does not know.
  const known = (name: string, value: string) => (Token.isUnresolved(value) ? `<AWS::${name}>` : value)
  const here = `${known('Region', stack.region)}:${known('AccountId', stack.account)}`

  accept(
    stack,
    'CloudFormation-Validate::W3010',
    'An operator names the zones where the first two of a Region do not serve: their names differ between accounts',
  )
  acceptSession(session, accept)
  if (config.nat === 'instance') acceptNatInstance(network, accept)
  for (const { rest } of apis) {
    if (config.firewall === null)
      accept(rest, `${SOLUTIONS}-APIG3`, 'A stage without customers: the throttles alone limit a flood')
    if (rest.domainName !== undefined)
      accept(
        rest.domainName,
        `${CONTROL_TOWER}api_gw_domain_tls_check`,
        'The rule does not know SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09, which is stricter than those it knows',
      )
    accept(
      rest,
      `${SOLUTIONS}-APIG2`,
      "The functions validate bodies, after authentication: a 422 must not reveal an endpoint's schema to a client that is owed a 401",
    )
    accept(
      rest,
      `${SOLUTIONS}-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]`,
      "API Gateway accepts only this policy for the account's logging role",
    )
    accept(
      rest,
      `${SERVERLESS}-APIGWXrayEnabled`,
      "API Gateway's traces contain the client's IP address, which no log here keeps; the access log has the same times",
    )
    accept(
      rest,
      `${CONTROL_TOWER}api_gw_xray_enabled_check`,
      "API Gateway's traces contain the client's IP address, which no log here keeps; the access log has the same times",
    )
  }
  accept(
    stack,
    `${CONTROL_TOWER}lambda_function_public_access_prohibited_check`,
    'Each permission names its API as SourceArn, which CloudFormation joins and the rule cannot read; a test checks it',
  )
  for (const provider of stack.node.children.filter(({ node }) => node.id.includes('CustomResourceProvider')))
    accept(
      provider,
      `${CONTROL_TOWER}lambda_inside_vpc_check`,
      "A function of the CDK's own, which calls only AWS and runs during deployments",
    )
  if (config.logDays < YEAR_DAYS)
    accept(
      stack,
      `${CONTROL_TOWER}cloudwatch_log_group_retention_period_check`,
      'The logs of a stage without customers are kept for weeks',
    )
  const noIamLogin =
    'Each role logs in with its own rotated secret over verified TLS; IAM authentication is limited to 200 new connections a second, which a burst of Lambdas exceeds'
  accept(database.cluster, `${SOLUTIONS}-RDS6`, noIamLogin)
  accept(database.cluster, `${CONTROL_TOWER}rds_cluster_iam_authentication_enabled_check`, noIamLogin)
  accept(
    database.cluster,
    `${CONTROL_TOWER}rds_instance_enhanced_monitoring_enabled_check`,
    "Aurora's own metrics and Database Insights show load and memory; the metrics of the operating system cost more logs",
  )
  accept(
    // The rule's finding names no resource.
    stack.node.root,
    `${CONTROL_TOWER}rds_cluster_logging_enabled_check`,
    'The functions log each failed statement by its code; the text of the statements stays for three days on the instance alone',
  )
  if (!minorUpgrades)
    accept(
      database.cluster,
      `${CONTROL_TOWER}rds_instance_automatic_minor_version_upgrade_enabled_check`,
      'A deployment upgrades it, after the version has run in staging',
    )
  if (restored)
    accept(
      database.cluster,
      'CloudFormation-Validate::W3688',
      'CloudFormation ignores the name of the owner, whom the snapshot has already, but requires it beside the new password',
    )
  if (!keep || !launched) {
    const deletable =
      'Only a stage that keeps its data and has launched is protected: CloudFormation must be able to delete what a failed first deployment created'
    accept(database.cluster, `${SOLUTIONS}-RDS10`, deletable)
    accept(database.cluster, `${CONTROL_TOWER}rds_cluster_deletion_protection_enabled_check`, deletable)
  }
  accept(
    secrets,
    `${SOLUTIONS}-SMG4`,
    "A new pepper or mail key would end every session and link; the cache's provider issues its token; the probe's user sets its password as every user does",
  )
  accept(
    workers,
    `${SOLUTIONS}-IAM5[Resource::arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*]`,
    'SES also checks the identity of a verified recipient; a condition limits the sender to one address',
  )
  accept(
    operations,
    `${SERVERLESS}-SNSRedrivePolicy`,
    'Its topic sends alarms by email; CloudWatch keeps the history of each alarm',
  )
  accept(
    operations,
    `${SERVERLESS}-EventBusDLQ`,
    'EventBridge tries the topic again for a day, and the alarm kms-failed tells of the first tenant whose key does not open',
  )
  for (const alarm of operations.alarms.stoppingReleases)
    accept(
      alarm,
      `${CONTROL_TOWER}cloudwatch_alarm_action_check`,
      'CodeDeploy reads its state; it is too sensitive to wake somebody',
    )
  if (release !== undefined) {
    accept(release, `${SOLUTIONS}-IAM5[Resource::*]`, 'cloudwatch:DescribeAlarms does not support resource ARNs')
    accept(
      release,
      `${SOLUTIONS}-IAM5[Resource::arn:${known('Partition', stack.partition)}:lambda:${here}:function:tenantry-${stage}-*]`,
      'CodeDeploy reads the configuration of aliases and versions, whose ARNs are unknown before',
    )
  }
  accept(
    workers,
    `${SERVERLESS}-LambdaEventSourceMappingDestination`,
    'After five failures the queue passes a message to its dead-letter queue',
  )
  // The rule does not see that the bus uses it.
  accept(events.failed, `${SOLUTIONS}-SQS3`, 'It is itself the dead-letter queue')
  for (const { failed } of [workers, events]) {
    accept(failed, `${SERVERLESS}-SQSRedrivePolicy`, 'It is itself the dead-letter queue')
    accept(failed, `${CONTROL_TOWER}sqs_dlq_check`, 'It is itself the dead-letter queue')
  }

  for (const { function: lambda, live, node } of [...groups, ...workers.functions]) {
    const role = lambda.role
    if (role === undefined) continue
    if (!lambda.isBoundToVpc)
      accept(
        lambda,
        `${CONTROL_TOWER}lambda_inside_vpc_check`,
        'It reaches only AWS and the public addresses of the service, and nothing in the VPC',
      )
    if (!config.tracing)
      accept(
        lambda,
        `${SERVERLESS}-LambdaTracing`,
        'The metrics of the functions show the same times, and X-Ray costs more than the API of a small stage',
      )
    accept(
      role,
      `${SOLUTIONS}-IAM5[Resource::*]`,
      "Network interface and SES account actions, and those of X-Ray, do not support resource ARNs; the function's own code is denied the latter",
    )
    if (lambda.deadLetterQueue !== undefined) {
      accept(
        live,
        `${SERVERLESS}-LambdaAsyncFailureDestination`,
        'Its dead-letter queue keeps the events of failed runs',
      )
    } else {
      accept(
        lambda,
        `${SERVERLESS}-LambdaDLQ`,
        `${node.id} is invoked synchronously, so the caller receives every failure`,
      )
    }
  }
}

/** Acknowledges the findings of the server that stands in for a NAT gateway, in a stage without customers. */
function acceptNatInstance({ vpc }: Network, accept: Accept): void {
  const small = 'It only passes packets of the functions on; the smallest type costs a tenth of a NAT gateway'
  accept(vpc, `${SOLUTIONS}-EC28`, small)
  accept(vpc, `${CONTROL_TOWER}ec2_instance_detailed_monitoring_enabled_check`, small)
  accept(
    vpc,
    `${CONTROL_TOWER}ec2_instance_nitro_encryption_in_transit_check`,
    'What passes through it is TLS already, from the functions to the internet',
  )
  accept(
    vpc,
    `${CONTROL_TOWER}ec2_instance_no_public_ip_check`,
    'The functions reach the internet through its address; its security group takes only what the functions send',
  )
  accept(vpc, `${SOLUTIONS}-EC29`, 'A deployment replaces it when Amazon Linux has a new image')
}

/** Acknowledges the findings of the task that a person starts for a session in the database. */
function acceptSession(session: Session, accept: Accept): void {
  const rare = 'No task runs until a person opens a session, and its transcript is kept'
  accept(session, `${SOLUTIONS}-ECS4`, rare)
  accept(session, `${CONTROL_TOWER}ecs_container_insights_enabled_check`, rare)
  accept(
    session,
    `${SOLUTIONS}-IAM5[Resource::*]`,
    'ssmmessages and logs:DescribeLogGroups do not support resource ARNs',
  )
  accept(
    session,
    `${CONTROL_TOWER}ecs_containers_readonly_access_check`,
    'ECS Exec writes the files of its agent into the container; the task lives for an hour',
  )
  accept(
    session,
    `${CONTROL_TOWER}ecs_task_definition_memory_hard_limit_check`,
    'Fargate limits the task, which has one container',
  )
}
