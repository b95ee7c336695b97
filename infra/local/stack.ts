import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { COMPRESSION_FROM_BYTES, INTEGRATION_TIMEOUT_MS, pageResponse } from '#infra/gateway.ts'
import { type DeployedFrontEnd, frontEnd, pagePaths } from '#infra/route-groups.ts'
import { parseConfig, SETTINGS, settingsIn } from '#shared/base/config.ts'
import { MigrationError } from '#shared/db/migrate.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { startEventBridge } from './aws/event-bridge.ts'
import { startKms } from './aws/kms.ts'
import { startLambda } from './aws/lambda.ts'
import { startSecretsManager } from './aws/secrets-manager.ts'
import { startSes } from './aws/ses.ts'
import { LOCAL_CREDENTIALS, startSts } from './aws/sts.ts'
import { startCache } from './cache/cache.ts'
import { startControl } from './control.ts'
import { createFaults } from './faults.ts'
import { type Invoke, serveApi, startGateway } from './gateway/gateway.ts'
import { startMailbox } from './mail/mailbox.ts'
import { loginOf, MIGRATIONS, type PreparedDatabase, prepareDatabase, urlFor } from './postgres/database.ts'
import { startPostgresWire } from './postgres/postgres-wire.ts'
import { startPostgres } from './postgres/postgres.ts'
import { keptSecrets, loginSecret, SECRETS } from './secrets.ts'
import { seed } from './seed.ts'
import { type LocalSecondFactor, seedSecured } from './seed-secured.ts'
import { type Opened, startFunctions } from './start-functions.ts'
import { startVendors, type VendorAccount, vendorAccounts } from './vendors/vendors.ts'

/** The content of stack.json, for people and tools. */
export interface StackInfo {
  readonly gateway_url: string
  readonly web_url: string
  readonly mailbox_url: string
  /** The events that the local EventBridge received. */
  readonly events_url: string
  readonly database_url: string
  readonly app_database_url: string
  readonly control_url: string
  readonly lambda_url: string
  readonly cache: 'redis' | 'in-process'
  readonly vendors: readonly VendorAccount[]
  readonly second_factor: LocalSecondFactor
  readonly pid: number
}

export interface Stack {
  readonly info: StackInfo
  readonly logFile: string
  /** Runs these functions from another folder of this project, as a deployment does. Invocations end where they began. */
  deploy(folder: string, names: readonly string[]): Promise<void>
  /** Returns the bytes that the heap of each instance uses. */
  heaps(): Promise<number[]>
  close(): Promise<void>
}

const EVENT_BUS = 'tenantry-local'
const PROJECT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Starts everything that a deployed stage has, on loopback: first the parts, then the functions behind the gateway.
 * `stateDir` stores what outlives a restart. Throws ConfigError for a setting that does not parse, before it starts anything.
 */
export async function startStack(options: {
  stateDir: string
  port: number
  webPort: number
  env: Readonly<Record<string, string | undefined>>
}): Promise<Stack> {
  const { stateDir, env } = options
  const settings = Object.fromEntries(
    settingsIn(SETTINGS).flatMap(({ name }) => (env[name] === undefined ? [] : [[name, env[name]]])),
  )
  const config = parseConfig(settings)
  await mkdir(stateDir, { recursive: true })

  const closers: (() => Promise<void>)[] = []
  const opened: Opened = (part) => {
    closers.unshift(() => part.close())
    return part
  }
  const close = async () => {
    for (const closer of closers.splice(0)) await closer().catch((error: unknown) => console.error(error))
  }

  try {
    const kept = await keptSecrets(join(stateDir, 'secrets.json'))
    const faults = createFaults()
    closers.unshift(async () => faults.close())

    const database = await openDatabase({ stateDir, url: env['DATABASE_URL'], rolePassword: kept.rolePassword, opened })
    const { databaseUrl, urls } = database
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    await seed(sql, config.argon2)
    const secondFactor = await seedSecured(sql, kept, config.argon2)
    await sql.end()

    const target = new URL(databaseUrl)
    const [wire, cache, kms, mailbox, control, vendors] = await Promise.all([
      startPostgresWire({ host: target.hostname, port: Number(target.port || 5432), faults }).then(opened),
      startCache({ faults }).then(opened),
      startKms({ stateDir, faults }).then(opened),
      startMailbox({ stateDir }).then(opened),
      startControl(faults).then(opened),
      startVendors({ faults }).then(opened),
    ])
    const lambda = opened(await startLambda())
    const publish = (event: object) => lambda.receive('mail-events', event)
    const ses = opened(await startSes({ mailbox, faults, publish }))
    const eventBridge = opened(await startEventBridge({ bus: EVENT_BUS, faults }))
    const sts = opened(await startSts())
    const login = (url: string) => JSON.stringify(loginOf(urlFor(url, { hostname: '127.0.0.1', port: wire.port })))
    const secretsManager = opened(
      await startSecretsManager({
        faults,
        secrets: {
          [SECRETS.pepper]: JSON.stringify({ pepper: kept.pepper }),
          [SECRETS.mailKey]: JSON.stringify({ mail_key: kept.mailKey }),
          [SECRETS.factorKey]: JSON.stringify({ factor_key: kept.factorKey }),
          [SECRETS.webKey]: JSON.stringify({ web_key: kept.webKey }),
          [SECRETS.cache]: JSON.stringify({ url: cache.url, token: cache.token }),
          [loginSecret('owner')]: login(databaseUrl),
          ...Object.fromEntries(SERVICE_ROLES.map((role) => [loginSecret(role), login(urls[role])])),
        },
      }),
    )

    const logFile = join(stateDir, 'functions.log')
    // Every instance pipes two streams into it.
    const logs = createWriteStream(logFile, { flags: 'a', mode: 0o600 }).setMaxListeners(0)
    const site = await frontEnd()
    let invokeWeb: Invoke = () => Promise.reject(new Error('the front end has not started'))
    // Before the functions, whose settings have its address.
    const web = opened(
      await serveFrontEnd(options.webPort, site.pages, (event, timeoutMs) => invokeWeb(event, timeoutMs)),
    )
    // Browsers make passkeys for a name, and not for an IP address.
    const webUrl = web.url.replace('127.0.0.1', 'localhost')
    const problemBaseUrl = settings['PROBLEM_BASE_URL'] === undefined ? `${webUrl}/problems` : config.problemBaseUrl
    const functionEnv = {
      WEB_BASE_URL: webUrl,
      PROBLEM_BASE_URL: problemBaseUrl,
      VENDOR_URLS: JSON.stringify(vendors.urls),
      VAULT_KEY_ID: await kms.keyArn('alias/tenantry-vault'),
      EVENT_BUS_NAME: EVENT_BUS,
      ...settings,
      DATABASE_TLS: 'disable',
      MIGRATIONS_FOLDER: MIGRATIONS,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: LOCAL_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: LOCAL_CREDENTIALS.secretAccessKey,
      AWS_ENDPOINT_URL_EVENTBRIDGE: eventBridge.url,
      AWS_ENDPOINT_URL_KMS: kms.url,
      AWS_ENDPOINT_URL_LAMBDA: lambda.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_SESV2: ses.url,
      AWS_ENDPOINT_URL_STS: sts.url,
      NODE_ENV: 'production',
    }
    const { integrations, deployables, ...started } = await startFunctions({
      env: functionEnv,
      site,
      logs,
      faults,
      lambda,
      opened,
    })
    invokeWeb = started.invokeWeb
    const gateway = opened(
      await startGateway({
        port: options.port,
        problemBaseUrl,
        integrations,
        compressionFromBytes: COMPRESSION_FROM_BYTES,
        onlyLoopbackHosts: true,
      }),
    )
    return {
      info: {
        gateway_url: gateway.url,
        web_url: webUrl,
        mailbox_url: mailbox.url,
        events_url: eventBridge.receivedUrl,
        database_url: databaseUrl,
        app_database_url: urls.app,
        control_url: control.url,
        lambda_url: lambda.url,
        cache: cache.kind,
        vendors: vendorAccounts,
        second_factor: secondFactor,
        pid: process.pid,
      },
      logFile,
      deploy: async (folder, names) => {
        for (const { name, handlerFile, instances } of deployables)
          if (names.includes(name)) await instances.deploy(join(folder, relative(PROJECT, handlerFile)))
      },
      heaps: async () => (await Promise.all(deployables.map(({ instances }) => instances.heaps()))).flat(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Migrates the database at `url`, or the embedded one. Throws an error with the way out for data of other migrations. */
async function openDatabase(options: {
  stateDir: string
  url: string | undefined
  rolePassword: string
  opened: Opened
}): Promise<PreparedDatabase> {
  const { stateDir, url, rolePassword, opened } = options
  if (url !== undefined) return prepareDatabase(url, { name: new URL(url).pathname.slice(1), rolePassword })
  const { adminUrl } = opened(await startPostgres({ dataDir: join(stateDir, 'postgres'), durable: true }))
  try {
    return await prepareDatabase(adminUrl, { name: 'tenantry', rolePassword })
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    const wayOut = `If an older version made the data in ${stateDir}, run \`npm start -- --fresh\`. This deletes the data.`
    throw new Error(`${error.message}\n${wayOut}`, { cause: error })
  }
}

/** Serves the front end as the API in infra/aws does: each path of its pages, and every other path. */
const serveFrontEnd = (port: number, pages: DeployedFrontEnd['pages'], invoke: Invoke) =>
  serveApi({
    port,
    onlyLoopbackHosts: true,
    api: {
      methods: pagePaths(pages).map((path) => ({ method: 'ANY', path, timeoutMs: INTEGRATION_TIMEOUT_MS, invoke })),
      failure: pageResponse,
    },
  })

/** Deletes a stack's state: every row, key, email and log. */
export const forget = (stateDir: string): Promise<void> => rm(stateDir, { recursive: true, force: true })
