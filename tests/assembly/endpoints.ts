import type { Authorize } from '#infra/local/aws/aws-endpoints.ts'
import { type EventBridge, startEventBridge } from '#infra/local/aws/event-bridge.ts'
import { startLambda } from '#infra/local/aws/lambda.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { startSts } from '#infra/local/aws/sts.ts'
import { startTestVault, type TestVault } from '#tests/support/vault.ts'
import { authorizing } from './policies.ts'
import { secretsFor, type SecretValues, stageResolver } from './stage.ts'
import { type Assembly, declaredFunctions, ofType, type Resolve } from './template.ts'

/** The AWS services of a stage's functions. Each allows only what the template's policies allow. */
export interface Endpoints {
  readonly resolve: Resolve
  readonly authorize: Authorize
  readonly vault: TestVault
  readonly eventBridge: EventBridge
  readonly urls: Readonly<Record<string, string>>
  /** The denied calls, and the invocations of unknown functions. */
  readonly refused: readonly string[]
  /** The invoked functions, in order. Those that `run` does not name do not run. */
  readonly invoked: readonly string[]
  /** Has a function run when another one invokes it. */
  run(name: string, invoke: (event: unknown) => Promise<unknown>): void
  close(): Promise<void>
}

/** Starts KMS, Secrets Manager, EventBridge and Lambda for a stage. `dbname` replaces the database name in its logins. */
export async function startEndpoints(
  assembly: Assembly,
  { secrets, dbname }: { secrets: SecretValues; dbname: string | null },
): Promise<Endpoints> {
  const refused: string[] = []
  const invoked: string[] = []
  let permit: Authorize = () => {}
  const authorize: Authorize = (call) => permit(call)
  const vault = await startTestVault({ authorize })
  const resolve = stageResolver(assembly, secrets, vault.keyArn)
  permit = authorizing(assembly, resolve, (call) => refused.push(call))
  const functions = declaredFunctions(assembly)
  const [bus] = ofType(assembly, 'AWS::Events::EventBus').map(([, { Name }]) => String(Name))
  const [sts, eventBridge, secretsManager, lambda] = await Promise.all([
    startSts(),
    startEventBridge({ bus: bus ?? '', authorize }),
    startSecretsManager({ secrets: secretsFor(secrets, dbname), authorize }),
    startLambda({
      authorize: (call) => {
        authorize(call)
        const name = call.resource.split(':')[6] ?? ''
        if (!functions.has(name)) refused.push(`${call.principal} invoked the unknown function ${name}`)
      },
    }),
  ])
  const run: Endpoints['run'] = (name, invoke) => lambda.serve(name, { worker: { timeoutSeconds: 1 }, invoke })
  for (const name of functions.keys())
    run(name, async () => {
      invoked.push(name)
    })
  return {
    resolve,
    authorize,
    vault,
    eventBridge,
    refused,
    invoked,
    run,
    urls: {
      AWS_ENDPOINT_URL_EVENTBRIDGE: eventBridge.url,
      AWS_ENDPOINT_URL_KMS: vault.kmsUrl,
      AWS_ENDPOINT_URL_LAMBDA: lambda.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_STS: sts.url,
    },
    close: async () => {
      await Promise.all([vault.close(), eventBridge.close(), secretsManager.close(), lambda.close(), sts.close()])
    },
  }
}
