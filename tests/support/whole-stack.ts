import { Writable } from 'node:stream'
import { startEventBridge } from '#infra/local/aws/event-bridge.ts'
import { startLambda } from '#infra/local/aws/lambda.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { startSts } from '#infra/local/aws/sts.ts'
import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import { type Gateway, startGateway } from '#infra/local/gateway/gateway.ts'
import { type Instances, startInstances } from '#infra/local/gateway/instances.ts'
import { loginOf } from '#infra/local/postgres/database.ts'
import { routeGroups, workers } from '#infra/route-groups.ts'
import { databaseRole, type Need } from '#shared/base/needs.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { FACTOR_KEY, MAIL_KEY, PEPPER } from './settings.ts'
import { startTestVault, type TestVault } from './vault.ts'

/** The functions as they run in AWS: each in a worker of its own, with credentials from Secrets Manager. */
export interface WholeStack {
  readonly database: TestDatabase
  readonly gateway: Gateway
  readonly vault: TestVault
  /** Those of the cache, of Secrets Manager and of the instances. */
  readonly faults: Faults
  invoke(name: string, event: unknown, timeoutMs: number, alias?: string): Promise<any>
  /** Everything that the functions have written. */
  logged(): string
  close(): Promise<void>
}

const BUS = 'tenantry-test'

interface WholeStackOptions {
  /** The folders in functions/ to start; all of them by default. */
  readonly functions?: readonly string[]
  /** Settings beside the stack's own, which they override. */
  readonly env?: Readonly<Record<string, string>>
  readonly vault?: TestVault
  /** Whether functions can invoke workers, and workers run on their schedules. */
  readonly invokesJobs?: boolean
}

export async function startWholeStack({
  functions,
  env,
  invokesJobs,
  ...given
}: WholeStackOptions): Promise<WholeStack> {
  const closers: (() => Promise<unknown>)[] = []
  const opened = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    closers.push(() => part.close())
    return part
  }
  const database = await createTestDatabase()
  closers.push(() => database.drop())
  const faults = createFaults()
  const cache = opened(await startCache({ force: 'in-process', faults }))
  const vault = opened(given.vault ?? (await startTestVault()))
  const login = (url: string) => JSON.stringify(loginOf(url))
  const secretsManager = opened(
    await startSecretsManager({
      faults,
      secrets: {
        pepper: JSON.stringify({ pepper: PEPPER }),
        'factor-key': JSON.stringify({ factor_key: FACTOR_KEY }),
        'mail-key': JSON.stringify({ mail_key: MAIL_KEY }),
        cache: JSON.stringify({ url: cache.url, token: cache.token }),
        ...Object.fromEntries(Object.entries(database.urls).map(([role, url]) => [role, login(url)])),
      },
    }),
  )
  const sts = opened(await startSts())
  const eventBridge = opened(await startEventBridge({ bus: BUS, faults: createFaults() }))
  const lambda = invokesJobs ? opened(await startLambda()) : null
  let logged = ''
  const logs = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      logged += chunk.toString()
      done()
    },
  }).setMaxListeners(0)
  const start = async ({ name, needs }: { name: string; needs: readonly Need[] }, handlerFile: string) =>
    opened(
      await startInstances<any, any>({
        functionName: name,
        handlerFile,
        most: 1,
        logs,
        killAfterMs: () => (faults.draw('instance') === 'kill' ? 0 : null),
        env: {
          AWS_LAMBDA_FUNCTION_NAME: `tenantry-test-${name}`,
          STAGE: 'test',
          DATABASE_SECRET_ID: databaseRole(needs) ?? '',
          PEPPER_SECRET_ID: 'pepper',
          MAIL_KEY_SECRET_ID: 'mail-key',
          FACTOR_KEY_SECRET_ID: 'factor-key',
          CACHE_SECRET_ID: 'cache',
          VAULT_DATABASE_SECRET_ID: 'vault',
          VAULT_KEY_ID: vault.keyArn,
          VENDOR_URLS: vault.vendorUrls,
          EVENT_BUS_NAME: BUS,
          DATABASE_TLS: 'disable',
          ARGON2_MEMORY_KIB: '64',
          ARGON2_ITERATIONS: '1',
          AWS_REGION: 'us-east-1',
          AWS_ACCESS_KEY_ID: 'local',
          AWS_SECRET_ACCESS_KEY: 'local',
          AWS_ENDPOINT_URL_KMS: vault.kmsUrl,
          AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
          AWS_ENDPOINT_URL_STS: sts.url,
          AWS_ENDPOINT_URL_EVENTBRIDGE: eventBridge.url,
          ...(lambda === null ? {} : { AWS_ENDPOINT_URL_LAMBDA: lambda.url }),
          ...env,
        },
      }),
    )
  const wanted = (name: string): boolean => functions?.includes(name) ?? true
  const invokes = new Map<string, Instances<any, any>['invoke']>()
  for (const { worker, handlerFile } of (await workers()).filter(({ worker }) => wanted(worker.name))) {
    const { invoke } = await start(worker, handlerFile)
    invokes.set(worker.name, invoke)
    lambda?.serve(worker.name, { worker, invoke })
  }
  const integrations: Parameters<typeof startGateway>[0]['integrations'][number][] = []
  for (const { group, handlerFile } of (await routeGroups()).filter(({ group }) => wanted(group.name))) {
    const { invoke } = await start(group, handlerFile)
    invokes.set(group.name, invoke)
    integrations.push({ group, invoke })
  }
  return {
    database,
    vault,
    faults,
    gateway: opened(await startGateway({ port: 0, problemBaseUrl: 'https://tenantry.example/problems', integrations })),
    invoke: async (name, ...rest) => {
      const invoke = invokes.get(name)
      if (invoke === undefined) throw new Error(`no function ${name}`)
      return invoke(...rest)
    },
    logged: () => logged,
    close: async () => {
      for (const close of closers.toReversed()) await close()
    },
  }
}
