import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { jobs, routeGroups } from '#infra/route-groups.ts'
import { parseConfig, SETTINGS, settingsIn } from '#shared/config.ts'
import { MigrationError } from '#shared/db/migrate.ts'
import { databaseRole, type Need, SERVICE_ROLES } from '#shared/needs.ts'
import { startCache } from '#infra/local/cache/cache.ts'
import { startControl } from './control.ts'
import { loginOf, MIGRATIONS, prepareDatabase, urlFor } from '#infra/local/postgres/database.ts'
import { createFaults } from './faults.ts'
import { startGateway } from '#infra/local/gateway/gateway.ts'
import { startInstances } from '#infra/local/gateway/instances.ts'
import { startKms } from '#infra/local/aws/kms.ts'
import { startLambda } from '#infra/local/aws/lambda.ts'
import { startMailbox } from '#infra/local/mail/mailbox.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { readIfThere, writePrivateFile } from './private-file.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { seed } from './seed.ts'
import { startSes } from '#infra/local/aws/ses.ts'
import { startVendors, type VendorAccount, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { startWeb } from '#infra/local/gateway/web.ts'

/** The content of stack.json, for people and tools. */
export interface StackInfo {
  readonly gateway_url: string
  readonly web_url: string
  readonly mailbox_url: string
  readonly database_url: string
  readonly app_database_url: string
  readonly control_url: string
  readonly lambda_url: string
  readonly cache: 'redis' | 'in-process'
  readonly vendors: readonly VendorAccount[]
  readonly pid: number
}

export interface Stack {
  readonly info: StackInfo
  readonly logFile: string
  close(): Promise<void>
}

const SECRETS = {
  tokens: 'tenantry/service',
  cache: 'tenantry/cache',
  app: 'tenantry/database/app',
  worker: 'tenantry/database/worker',
  operator: 'tenantry/database/operator',
  owner: 'tenantry/database/owner',
  vault: 'tenantry/database/vault',
}
const MOST_INSTANCES = 16
const MOST_WORKERS = 2

/** Kept over restarts, so that sessions and encrypted data stay valid. */
interface KeptSecrets {
  readonly pepper: string
  readonly mailKey: string
  readonly rolePassword: string
}

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
  const opened = <Part extends { close(): Promise<void> }>(part: Part): Part => {
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

    const adminUrl =
      env['DATABASE_URL'] ??
      opened(await startPostgres({ dataDir: join(stateDir, 'postgres'), durable: true })).adminUrl
    const name = env['DATABASE_URL'] === undefined ? 'tenantry' : new URL(adminUrl).pathname.slice(1)
    const { databaseUrl, appUrl, workerUrl, operatorUrl, vaultUrl } = await prepareDatabase(adminUrl, {
      name,
      rolePassword: kept.rolePassword,
    }).catch((error: unknown) => {
      if (!(error instanceof MigrationError) || env['DATABASE_URL'] !== undefined) throw error
      throw new Error(
        `${error.message}.\nIf an older version made the data in ${stateDir}, run \`npm start -- --fresh\`. This deletes the data.`,
        { cause: error },
      )
    })
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    await seed(sql, config.argon2)
    await sql.end()

    const target = new URL(appUrl)
    const [wire, cache, kms, mailbox, control, vendors] = await Promise.all([
      startPostgresWire({ host: target.hostname, port: Number(target.port || 5432), faults }).then(opened),
      startCache({ faults }).then(opened),
      startKms({ stateDir, faults }).then(opened),
      startMailbox({ stateDir }).then(opened),
      startControl(faults).then(opened),
      startVendors({ faults }).then(opened),
    ])
    const ses = opened(await startSes({ mailbox, faults }))
    const login = (url: string) => JSON.stringify(loginOf(urlFor(url, { hostname: '127.0.0.1', port: wire.port })))
    const secretsManager = opened(
      await startSecretsManager({
        secrets: {
          [SECRETS.tokens]: JSON.stringify({ pepper: kept.pepper, mail_key: kept.mailKey }),
          [SECRETS.cache]: JSON.stringify({ url: cache.url, token: cache.token }),
          [SECRETS.app]: login(appUrl),
          [SECRETS.worker]: login(workerUrl),
          [SECRETS.operator]: login(operatorUrl),
          [SECRETS.owner]: login(databaseUrl),
          [SECRETS.vault]: login(vaultUrl),
        },
      }),
    )

    const logFile = join(stateDir, 'functions.log')
    // Every instance pipes two streams into it.
    const logs = createWriteStream(logFile, { flags: 'a' }).setMaxListeners(0)
    const lambda = opened(await startLambda())
    let gatewayUrl = ''
    const web = opened(await startWeb({ port: options.webPort, gatewayUrl: () => gatewayUrl }))
    const functionEnv = {
      WEB_BASE_URL: web.url,
      VENDOR_URLS: JSON.stringify(vendors.urls),
      VAULT_KEY_ID: await kms.keyArn('alias/tenantry-vault'),
      ...settings,
      DATABASE_TLS: 'disable',
      MIGRATIONS_FOLDER: MIGRATIONS,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_ENDPOINT_URL_KMS: kms.url,
      AWS_ENDPOINT_URL_LAMBDA: lambda.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ENDPOINT_URL_SESV2: ses.url,
      NODE_ENV: 'production',
    }
    const instancesOf = async <Event, Result>(
      { name, needs }: { name: string; needs: readonly Need[] },
      handlerFile: string,
      most: number,
    ) => {
      const env = { ...functionEnv, ...secretsFor(needs) }
      return opened(await startInstances<Event, Result>({ handlerFile, functionName: name, env, most, logs }))
    }
    const started = await Promise.all([
      ...(await jobs()).map(async ({ job, handlerFile }) => {
        const { invoke } = await instancesOf<unknown, unknown>(job, handlerFile, MOST_WORKERS)
        lambda.serve(job.name, { job, invoke })
        return []
      }),
      ...(await routeGroups()).map(async ({ group, handlerFile }) => {
        const { invoke } = await instancesOf<APIGatewayProxyEvent, APIGatewayProxyResult>(
          group,
          handlerFile,
          MOST_INSTANCES,
        )
        return [{ group, invoke }]
      }),
    ])
    const integrations = started.flat()
    const gateway = opened(
      await startGateway({ port: options.port, problemBaseUrl: config.problemBaseUrl, integrations }),
    )
    gatewayUrl = gateway.url
    return {
      info: {
        gateway_url: gateway.url,
        web_url: web.url,
        mailbox_url: mailbox.url,
        database_url: databaseUrl,
        app_database_url: appUrl,
        control_url: control.url,
        lambda_url: lambda.url,
        cache: cache.kind,
        vendors: vendorAccounts,
        pid: process.pid,
      },
      logFile,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the environment variables that name the secrets of a function with these needs. */
function secretsFor(needs: readonly Need[]): Record<string, string> {
  const role = databaseRole(needs)
  return {
    ...(role === null ? {} : { DATABASE_SECRET_ID: SECRETS[role] }),
    ...(needs.includes('role-passwords') ? { ROLE_SECRET_IDS: SERVICE_ROLES.map((name) => SECRETS[name]).join() } : {}),
    ...(needs.includes('service-secret') ? { SERVICE_SECRET_ID: SECRETS.tokens } : {}),
    ...(needs.includes('cache') ? { CACHE_SECRET_ID: SECRETS.cache } : {}),
    ...(needs.includes('vault') ? { VAULT_DATABASE_SECRET_ID: SECRETS.vault } : {}),
  }
}

/** Deletes a stack's state: every row, key, email and log. */
export const forget = (stateDir: string): Promise<void> => rm(stateDir, { recursive: true, force: true })

async function keptSecrets(file: string): Promise<KeptSecrets> {
  const text = await readIfThere(file)
  if (text !== undefined) return JSON.parse(text)
  const made: KeptSecrets = {
    pepper: randomBytes(32).toString('base64url'),
    mailKey: randomBytes(32).toString('base64url'),
    rolePassword: randomBytes(24).toString('base64url'),
  }
  await writePrivateFile(file, JSON.stringify(made))
  return made
}
