import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asking, type Authorize, AWS_REGION, AwsError, withAwsFailures } from '#infra/local/aws/aws-endpoints.ts'
import { json, startHttpServer } from '#infra/local/http-server.ts'
import { type DeployedFunction, startInstance } from './runtime-api.ts'
import { type Assembly, bundleOf, type DeclaredFunction, declaredFunctions, ofType, type Resolve } from './template.ts'

/** How a stage runs on this machine. */
export interface Surroundings {
  readonly authorize: Authorize
  readonly resolverOf: (assembly: Assembly) => Resolve
  readonly deployed: (declared: DeclaredFunction, resolve: Resolve) => DeployedFunction
  readonly log: (text: string) => void
}

/**
 * Runs the migrations of a release as CloudFormation does: passes the event of the template's trigger to the CDK's own provider,
 * which invokes the version that the template names. `previous` is the release that a deployment, or its rollback, replaces. Without
 * it the resource is created. Returns what the function returned, or undefined if it was not invoked. Throws what fails a deployment.
 */
export async function runTrigger(
  assembly: Assembly,
  { previous, authorize, resolverOf, deployed, log }: Surroundings & { readonly previous?: Assembly },
): Promise<unknown> {
  const { id, provider, properties } = declaredTrigger(assembly, resolverOf(assembly))
  const before = previous && declaredTrigger(previous, resolverOf(previous)).properties
  // CloudFormation sends no event for a resource that stays as it was.
  if (isDeepStrictEqual(before, properties)) return undefined
  const resolve = resolverOf(assembly)
  const [, version] =
    ofType(assembly, 'AWS::Lambda::Version').find(([id]) => resolve({ Ref: id }, id) === properties['HandlerArn']) ?? []

  let returned: unknown
  const lambda = await startHttpServer({
    answer: withAwsFailures(async ({ url, headers }) => {
      const [, arn = ''] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(url.pathname) ?? []
      const asked = decodeURIComponent(arn)
      asking(authorize, headers)('lambda:InvokeFunction', asked)
      const declared = [...declaredFunctions(assembly).values()].find((each) => each.id === version?.FunctionName.Ref)
      if (declared === undefined || asked !== properties['HandlerArn'])
        throw new AwsError('ResourceNotFoundException', `Function not found: ${asked}`, 404)
      try {
        returned = await invokeOnce(deployed(declared, resolve), {}, log)
        return json(200, returned)
      } catch (error) {
        const { name: errorType, message: errorMessage } = error instanceof Error ? error : new Error(String(error))
        return json(200, { errorType, errorMessage }, { 'x-amz-function-error': 'Unhandled' })
      }
    }),
  })
  // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requests.html
  const event = {
    RequestType: before === undefined ? 'Create' : 'Update',
    RequestId: randomUUID(),
    StackId: 'the stack',
    ResourceType: 'Custom::Trigger',
    LogicalResourceId: id,
    ...(before === undefined ? {} : { PhysicalResourceId: id, OldResourceProperties: before }),
    ResourceProperties: properties,
  }
  try {
    await invokeOnce(providerFunction(assembly, provider, lambda.url), event, log)
    return returned
  } finally {
    await lambda.close()
  }
}

async function invokeOnce(deployed: DeployedFunction, event: object, log: (text: string) => void): Promise<unknown> {
  const instance = await startInstance(deployed, log)
  try {
    return await instance.invoke(event)
  } finally {
    await instance.close()
  }
}

/** CloudFormation passes every property as text. */
function declaredTrigger(assembly: Assembly, resolve: Resolve) {
  const [[id, declared] = ['', {}]] = ofType(assembly, 'Custom::Trigger')
  const { ServiceToken, ...rest } = declared
  const properties: Record<string, string> = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, resolve(value, `${id}: ${name}`)]),
  )
  return { id, provider: String(ServiceToken?.['Fn::GetAtt'][0]), properties }
}

/** The function of the CDK, without its wrapper: that sends the outcome to CloudFormation over HTTPS. */
function providerFunction(assembly: Assembly, id: string, lambdaUrl: string): DeployedFunction {
  const { Code, Timeout } = assembly.resources[id]?.Properties ?? {}
  const taskRoot = bundleOf(assembly, Code)
  return {
    name: id,
    arn: '',
    taskRoot,
    timeoutSeconds: Timeout,
    environment: {
      _HANDLER: 'index.handler',
      LAMBDA_TASK_ROOT: taskRoot,
      // Lambda's runtime has the SDK.
      NODE_PATH: join(process.cwd(), 'node_modules'),
      AWS_ACCESS_KEY_ID: id,
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_REGION,
      AWS_ENDPOINT_URL_LAMBDA: lambdaUrl,
    },
  }
}
