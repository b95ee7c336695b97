import { CfnElement, type Stack, Validations } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'
import type { Api } from './api.ts'
import type { Database } from './database.ts'
import type { TenantryFunction } from './function.ts'
import type { Jobs } from './jobs.ts'
import type { Operations } from './operations.ts'
import type { Secrets } from './secrets.ts'

const SOLUTIONS = 'AwsSolutions::AwsSolutions'
const SERVERLESS = 'Serverless::Serverless'

/** Acknowledges the cdk-nag findings that are no faults here, each with its reason, on the resource or close to it. */
export function acknowledge(
  stack: Stack,
  made: {
    api: Api
    database: Database
    jobs: Jobs
    operations: Operations
    secrets: Secrets
    groups: readonly TenantryFunction[]
    keep: boolean
  },
): void {
  const { api, database, jobs, operations, secrets, groups, keep } = made
  const accept = (scope: IConstruct, id: string, reason: string) => Validations.of(scope).acknowledge({ id, reason })

  accept(
    api.rest,
    `${SOLUTIONS}-APIG2`,
    "The functions validate bodies, after authentication: a 422 must not reveal an endpoint's schema to a client that is owed a 401",
  )
  accept(
    api.rest,
    `${SOLUTIONS}-APIG4`,
    'The bearer middleware authenticates each request with one statement; an authorizer would query the database twice and could cache a revoked session',
  )
  accept(api.rest, `${SOLUTIONS}-COG4`, 'This service is the identity provider; its sessions are opaque and revocable')
  accept(
    api.rest,
    `${SOLUTIONS}-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]`,
    "API Gateway accepts only this policy for the account's logging role",
  )
  accept(
    api.rest,
    `${SERVERLESS}-APIGWXrayEnabled`,
    "API Gateway's traces contain the client's IP address, which no log here keeps; the functions are traced",
  )
  accept(
    database.cluster,
    `${SOLUTIONS}-RDS6`,
    'Each role logs in with its own rotated secret over verified TLS; IAM authentication is limited to 200 new connections a second, which a burst of Lambdas exceeds',
  )
  if (!keep)
    accept(database.cluster, `${SOLUTIONS}-RDS10`, 'A stage with keep: false is deleted together with its database')
  accept(
    secrets,
    `${SOLUTIONS}-SMG4`,
    "A new pepper or mail key would end every session and link; the cache's provider issues its token",
  )
  accept(
    jobs,
    `${SOLUTIONS}-IAM5[Resource::arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*]`,
    'SES also checks the identity of a verified recipient; a condition limits the sender to one address',
  )
  accept(
    operations,
    `${SERVERLESS}-SNSRedrivePolicy`,
    'Its topic sends alarms by email; CloudWatch keeps the history of each alarm',
  )
  accept(jobs.failed, `${SERVERLESS}-SQSRedrivePolicy`, 'It is itself the dead-letter queue')

  for (const { function: lambda, node } of [...groups, ...jobs.functions]) {
    const role = lambda.role
    if (role === undefined) continue
    accept(
      role,
      `${SOLUTIONS}-IAM5[Resource::*]`,
      "X-Ray, network interface and SES account actions do not support resource ARNs; the function's own code is denied the latter",
    )
    if (lambda.deadLetterQueue !== undefined) {
      accept(
        lambda,
        `${SERVERLESS}-LambdaAsyncFailureDestination`,
        'Its dead-letter queue keeps the events of failed runs',
      )
      const { defaultChild } = lambda.node
      if (!(defaultChild instanceof CfnElement)) continue
      const arn = `<${stack.getLogicalId(defaultChild)}.Arn>:*`
      accept(stack, `${SOLUTIONS}-IAM5[Resource::${arn}]`, 'A schedule may invoke any version of its own job')
    } else {
      accept(
        lambda,
        `${SERVERLESS}-LambdaDLQ`,
        `${node.id} is invoked synchronously, so the caller receives every failure`,
      )
    }
  }
}
