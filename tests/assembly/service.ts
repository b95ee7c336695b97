import { setTimeout as delay } from 'node:timers/promises'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { inject } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { type ApiMethod, type Invoke, serveApi } from '#infra/local/gateway/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import type { Need } from '#shared/base/needs.ts'
import { openLimiter } from '#shared/rate-limit/open-limiter.ts'
import { createRuntime, type Runtime } from '#shared/lambda/runtime.ts'
import { accessOf, commonNeeds, connectTo, loginsOf } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { startTestMail } from '#tests/support/mail.ts'
import type { ServiceOptions, ServiceParts } from '#tests/support/service.ts'
import { signedCommand } from '#tests/support/operator.ts'
import { MAIL_KEY, PEPPER, TEST_SETTINGS } from '#tests/support/settings.ts'
import { TEMPLATE } from '#tests/support/setup/template.ts'
import { type Aliases, openAliases } from './aliases.ts'
import { declaredApi, declaredWebApi } from './api.ts'
import type { ReceivedEvent } from '#infra/local/aws/event-bridge.ts'
import { startEndpoints } from './endpoints.ts'
import { CACHE_SECRET, MOST_INSTANCES } from './overrides.ts'
import { startPool } from './runtime-api.ts'
import { deployedFunction, stageResolver } from './stage.ts'
import { type Assembly, type DeclaredFunction, readAssembly, type Resolve } from './template.ts'
import { runTrigger } from './trigger.ts'

const JOB_TIMEOUT_MS = 60_000

/** The service started from its assembly, including its jobs. */
export interface AssembledService extends ServiceParts {
  readonly assembly: Assembly
  /** The address of the front end. */
  readonly webUrl: string
  /** The aliases of the functions, which a release moves. */
  readonly aliases: Aliases
  /** Runs the migrations of a release as its deployment does, or as the rollback of a deployment. Throws what fails it. */
  readonly migrate: (release: Assembly, previous: Assembly) => Promise<unknown>
  /** Invokes a function by its name, without the prefix of the stage. */
  invoke(name: string, event: object): Promise<unknown>
  /** Gives a command, as an operator does. */
  operate(command: object): Promise<unknown>
  /** Returns the events that the bus of the stage received, oldest first. */
  published(): readonly ReceivedEvent[]
  /** Returns the log of all functions. */
  log(): string
}

/**
 * Starts the service from the assembly of this run: the API that the template declares, with each function's bundle in its own
 * processes. `runtime` and a test's own groups run from the sources on the same database. `close` throws if AWS denied a call
 * or a function failed. `mutate` may change the template first.
 */
export async function startFromAssembly(
  { env = {}, groups = [] }: ServiceOptions,
  mutate: (assembly: Assembly) => void = () => {},
): Promise<AssembledService> {
  const run = inject('assembly')
  if (run === undefined) throw new Error('this run has no assembly')
  const { folder, stage, secrets, caFile, webBaseUrl, problemBaseUrl } = run
  const assembly = readAssembly(folder, stage)
  mutate(assembly)
  const database = await createTestDatabase()
  await ownAsDeployed(database)
  const cache = await startCache({ force: 'in-process' })
  const named = Object.fromEntries(
    Object.entries(secrets).map(([id, value]) => [
      id,
      id.startsWith(CACHE_SECRET) ? JSON.stringify({ url: cache.url, token: cache.token }) : value,
    ]),
  )
  const endpoints = await startEndpoints(assembly, { secrets: named, dbname: database.name })
  const { vault, resolve, authorize, refused } = endpoints

  const config = parseConfig({
    ...TEST_SETTINGS,
    DATABASE_TLS: 'disable',
    VENDOR_URLS: vault.vendorUrls,
    WEB_BASE_URL: webBaseUrl,
    PROBLEM_BASE_URL: problemBaseUrl,
    ...env,
  })
  const access = {
    logins: loginsOf(database.urls),
    tokenSecrets: { pepper: PEPPER, mailKey: MAIL_KEY },
    cache: { url: cache.url, token: cache.token },
  }
  const runtimeWith = (needs: readonly Need[]): Runtime =>
    createRuntime(needs, config, accessOf(access, needs), {
      openLimiter,
      invoke: async () => {},
      openVault: () => vault.openVault(database),
    })
  const runtime = runtimeWith([...commonNeeds('app'), 'vault'])
  const authRuntime = runtimeWith(commonNeeds('auth'))
  const mail = await startTestMail(
    {
      config,
      database: connectTo(database.urls.mailer, config.database),
      pepper: PEPPER,
      mailKey: MAIL_KEY,
    },
    { authorize },
  )
  const worker = { config, database: connectTo(database.workerUrl, config.database), vault: runtime.vault }

  let log = ''
  const keepLog = (text: string) => {
    log += text
  }
  const resolverOf = (release: Assembly) => stageResolver(release, named, vault.keyArn)
  const deployed = (declared: DeclaredFunction, resolved: Resolve) =>
    deployedFunction(declared, {
      resolve: resolved,
      caFile,
      endpoints: { ...endpoints.urls, AWS_ENDPOINT_URL_SESV2: mail.sesUrl },
      replaced: { VENDOR_URLS: vault.vendorUrls, PWNED_PASSWORDS_URL: '', SESSION_SLIDE_STEP_SECONDS: '0' },
      added: env,
    })
  const aliases = openAliases(assembly, (release, declared) =>
    startPool(deployed(declared, resolverOf(release)), { most: MOST_INSTANCES, log: keepLog }),
  )
  const invoke = (name: string, event: object) => aliases.invoke(`tenantry-${stage}-${name}`, event, JOB_TIMEOUT_MS)
  const broken: string[] = []
  const invokeOf =
    (name: string): Invoke =>
    async (event, timeoutMs) => {
      try {
        return (await aliases.invoke(name, event, timeoutMs)) as ProxyResult
      } catch (error) {
        broken.push(String(error))
        throw error
      }
    }
  const declared = declaredApi(assembly, { resolve, problemBaseUrl, invokeOf })
  const api = { ...declared, methods: [...declared.methods, ...groups.flatMap((group) => methodsOf(group, runtime))] }
  const gateway = await serveApi({ port: 0, api })
  const webGateway = await serveApi({ port: 0, api: declaredWebApi(assembly, { resolve, invokeOf }) })
  for (const { group } of await routeGroups()) {
    const name = `tenantry-${stage}-${group.name}`
    endpoints.run(name, (event) => aliases.invoke(name, Object(event), JOB_TIMEOUT_MS))
  }

  return {
    database,
    gateway,
    webUrl: webGateway.url,
    runtime,
    authRuntime,
    cache,
    vault,
    assembly,
    aliases,
    migrate: (release, previous) => runTrigger(release, { previous, authorize, resolverOf, deployed, log: keepLog }),
    invoke,
    operate: async (command) => invoke('operate', await signedCommand(`tenantry-${stage}-operate`, command)),
    published: () => endpoints.eventBridge.received(),
    log: () => log,
    worker,
    mail: {
      ...mail,
      deliver: async () => Number(Object(await invoke('deliver-mail', {})).sent),
    },
    get invoked() {
      return endpoints.invoked.map((name) => name.replace(`tenantry-${stage}-`, ''))
    },
    logged: async (work) => {
      const before = log.length
      await work()
      // The output of a process can arrive shortly after its response.
      await delay(100)
      return log.slice(before)
    },
    close: async () => {
      await gateway.close()
      await webGateway.close()
      await aliases.close()
      await runtime.database.close()
      await authRuntime.database.close()
      await runtime.vault.close()
      await endpoints.close()
      await mail.close()
      await worker.database.close()
      await cache.close()
      await database.drop()
      if (refused.length + broken.length > 0) throw new Error([...refused, ...broken].join('\n'))
    },
  }
}

/** Gives the copy of the deployed database to its owner, as whom the migrations run. */
async function ownAsDeployed({ admin, name }: TestDatabase): Promise<void> {
  const [row] = await admin<{ owner: string }[]>`
    select pg_get_userbyid(datdba) as owner from pg_database where datname = ${TEMPLATE}`
  await admin`alter database ${admin(name)} owner to ${admin(row?.owner ?? '')}`
}

const methodsOf = (group: RouteGroup, runtime: Runtime): ApiMethod[] => {
  const handle = lambda(group, { config: runtime.config, open: async () => runtime })
  return group.endpoints.map(({ path }) => ({
    method: 'ANY',
    path,
    timeoutMs: 10_000,
    invoke: (event) => handle(event, lambdaContext),
  }))
}
