import { CfnElement, type Stack, Validations } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'
import type { Api } from './api.ts'
import type { Database } from './database.ts'
import type { TenantryFunction } from './function.ts'
import type { Jobs } from './jobs.ts'
import type { Secrets } from './secrets.ts'

const SOLUTIONS = 'AwsSolutions::AwsSolutions'
const SERVERLESS = 'Serverless::Serverless'

/** Why the findings of the rule packs that are left are no faults here, each as near to its resource as can be. */
export function acknowledge(
  stack: Stack,
  made: {
    api: Api
    database: Database
    jobs: Jobs
    secrets: Secrets
    groups: readonly TenantryFunction[]
    keep: boolean
  },
): void {
  const { api, database, jobs, secrets, groups, keep } = made
  const accept = (scope: IConstruct, id: string, reason: string) => Validations.of(scope).acknowledge({ id, reason })

  accept(
    api.rest,
    `${SOLUTIONS}-APIG2`,
    "Bodies are parsed by each endpoint's schema in its function, after the principal is known, so that a 422 tells nothing to whom a 401 is owed",
  )
  accept(
    api.rest,
    `${SOLUTIONS}-APIG4`,
    'The bearer middleware authenticates in the statement that reads the session; an authorizer would ask the database twice and could cache a revoked one',
  )
  accept(api.rest, `${SOLUTIONS}-COG4`, 'This service is the identity provider; its sessions are opaque and revocable')
  accept(
    api.rest,
    `${SOLUTIONS}-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]`,
    "API Gateway takes this policy for the account's logging role, and no narrower one",
  )
  accept(
    api.rest,
    `${SERVERLESS}-APIGWXrayEnabled`,
    "API Gateway's traces hold the client's address, which nothing here keeps; the functions are traced",
  )
  accept(
    database.cluster,
    `${SOLUTIONS}-RDS6`,
    'Each role signs in with its own rotated secret over verified TLS; tokens of IAM authentication are limited to 200 new connections a second, which a burst of Lambdas exceeds',
  )
  if (!keep) accept(database.cluster, `${SOLUTIONS}-RDS10`, 'A stage that is not kept is thrown away with its database')
  accept(
    secrets,
    `${SOLUTIONS}-SMG4`,
    "With another pepper or mail key every session and link is dead; the cache's token is made outside of AWS, by its operator",
  )
  accept(jobs.failed, `${SERVERLESS}-SQSRedrivePolicy`, 'It is itself where failed work goes')

  for (const { function: lambda, node } of [...groups, ...jobs.functions]) {
    const role = lambda.role
    if (role === undefined) continue
    accept(
      role,
      `${SOLUTIONS}-IAM5[Resource::*]`,
      "X-Ray and the making of network interfaces know no resources; the latter are denied to the function's own code",
    )
    if (lambda.deadLetterQueue !== undefined) {
      accept(lambda, `${SERVERLESS}-LambdaAsyncFailureDestination`, 'Its dead-letter queue keeps what failed')
      const { defaultChild } = lambda.node
      if (!(defaultChild instanceof CfnElement)) continue
      const arn = `<${stack.getLogicalId(defaultChild)}.Arn>:*`
      accept(stack, `${SOLUTIONS}-IAM5[Resource::${arn}]`, 'A schedule may invoke its own job, in any version')
    } else {
      accept(
        lambda,
        `${SERVERLESS}-LambdaDLQ`,
        `${node.id} is invoked by a principal that waits for its answer, so no failure is lost`,
      )
    }
  }
}
