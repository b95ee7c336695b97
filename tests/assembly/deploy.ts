import { chmod, chown, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import * as v from 'valibot'
import { loginOf, MIGRATIONS } from '#infra/local/postgres/database.ts'
import type { Postgres } from '#infra/local/postgres/postgres.ts'
import { selfSigned } from '#tests/shared/suppliers/self-signed.ts'
import { declaredApi, declaredWebApi } from './api.ts'
import { undeliverable } from './deliveries.ts'
import { startEndpoints } from './endpoints.ts'
import { type DeployedFunction, startInstance } from './runtime-api.ts'
import { deployedFunction, makeSecrets, passwords, type SecretValues } from './stage.ts'
import { type Assembly, type DeclaredFunction, declaredFunctions, ofType, resolver, Undeployable } from './template.ts'
import { runTrigger, type Surroundings } from './trigger.ts'

/** The start of an instance: its duration from spawn to its first request for work, and the CPU time of loading its handler. Each is the minimum of all rounds. */
export interface Init {
  readonly ms: number
  readonly cpuMs: number
}

/** A deployed stage. */
export interface Deployed {
  readonly secrets: SecretValues
  /** The start of each function and of EMPTY_FUNCTION, by name. */
  readonly inits: Readonly<Record<string, Init>>
}

// No function uses the cache during a deployment.
const NO_CACHE = { url: 'https://cache.invalid', token: 'none' }

/** Turns on TLS in a server. Writes its certificate for localhost to `caFile`. */
export async function encrypt({ adminUrl }: Postgres, caFile: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
  const [row] = await sql<{ data_directory: string }[]>`show data_directory`
  const folder = row?.data_directory ?? ''
  const { uid, gid } = await stat(folder)
  const { cert, key } = selfSigned()
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    await chown(join(folder, name), uid, gid)
  }
  await writeFile(caFile, cert)
  await chmod(caFile, 0o644)
  await sql`alter system set ssl = on`
  await sql`select pg_reload_conf()`
  await sql.end()
}

/**
 * Deploys a stage to an empty server: creates its secrets and the database with an owner who is not a superuser, migrates by
 * the stage's own function, and starts every function `rounds` times. Throws what would fail a deployment.
 */
export async function deploy(
  assembly: Assembly,
  options: {
    readonly adminUrl: string
    readonly caFile: string
    readonly problemBaseUrl: string
    readonly rounds: number
  },
): Promise<Deployed> {
  const { adminUrl, caFile, problemBaseUrl, rounds } = options
  const secrets = makeSecrets(assembly, { databasePort: loginOf(adminUrl).port, cache: NO_CACHE })
  await createDatabase(assembly, secrets, adminUrl)
  const endpoints = await startEndpoints(assembly, { secrets, dbname: null })
  try {
    const { authorize, resolve, urls, vault } = endpoints
    const [lost] = undeliverable(assembly, resolve)
    if (lost !== undefined) throw new Undeployable(lost)
    const invokeOf = () => () => Promise.reject(new Error('not started'))
    declaredApi(assembly, { resolve, problemBaseUrl, invokeOf })
    declaredWebApi(assembly, { resolve, invokeOf })
    const deployed = (declared: DeclaredFunction) =>
      deployedFunction(declared, {
        resolve,
        caFile,
        endpoints: urls,
        replaced: { VENDOR_URLS: vault.vendorUrls, PWNED_PASSWORDS_URL: '', SESSION_SLIDE_STEP_SECONDS: '0' },
      })
    const functions = [...declaredFunctions(assembly).values()].map(deployed)
    await migrate(assembly, secrets, { authorize, resolverOf: () => resolve, deployed, log: () => {} })
    return { secrets, inits: await measureInits(functions, rounds) }
  } catch (error) {
    const [first] = endpoints.refused
    throw first === undefined ? error : new Undeployable(first, { cause: error })
  } finally {
    await endpoints.close()
  }
}

async function migrate(assembly: Assembly, secrets: SecretValues, surroundings: Surroundings): Promise<void> {
  const done = v.parse(
    v.object({ applied: v.array(v.string()), passwords: v.array(v.string()) }),
    await runTrigger(assembly, surroundings),
  )
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql'))
  const lacking = [
    ...files.filter((name) => !done.applied.includes(name)).map((name) => `the migration ${name} was not applied`),
    ...Object.keys(passwords(secrets))
      .filter((role) => role.startsWith('identity_') && !done.passwords.includes(role))
      .map((role) => `the role ${role} got no password`),
  ]
  if (lacking.length > 0) throw new Undeployable(lacking.join('; '))
}

/** The name of the function that does nothing. The others are compared with it. */
export const EMPTY_FUNCTION = 'empty'

async function measureInits(functions: readonly DeployedFunction[], rounds: number): Promise<Record<string, Init>> {
  const taskRoot = await mkdtemp(join(tmpdir(), 'tenantry-empty-'))
  await writeFile(join(taskRoot, 'index.js'), 'exports.handler = async () => null\n')
  const [first] = functions
  const empty = { ...first, environment: { ...first?.environment, LAMBDA_TASK_ROOT: taskRoot } }
  const least: Record<string, Init> = {}
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const each of [{ ...empty, name: EMPTY_FUNCTION, arn: '', taskRoot, timeoutSeconds: 1 }, ...functions]) {
        const instance = await startInstance(each, () => {})
        const { ms, cpuMs } = least[each.name] ?? { ms: Infinity, cpuMs: Infinity }
        least[each.name] = { ms: Math.min(ms, instance.initMs), cpuMs: Math.min(cpuMs, instance.initCpuMs) }
        await instance.close()
      }
    }
  } finally {
    await rm(taskRoot, { recursive: true, force: true })
  }
  return least
}

/** Creates an empty database as RDS does: its owner may create roles and is not a superuser. */
async function createDatabase(assembly: Assembly, secrets: SecretValues, adminUrl: string): Promise<void> {
  const [[, cluster] = ['', {}]] = ofType(assembly, 'AWS::RDS::DBCluster')
  const resolve = resolver(assembly, { keyArn: (id) => id, secretValue: (id) => secrets[id] ?? '' })
  const [owner, password] = [cluster.MasterUsername, cluster.MasterUserPassword].map((value) =>
    resolve(value, 'DBCluster'),
  )
  if (owner === undefined || passwords(secrets)[owner] !== password)
    throw new Undeployable(`no secret has the password of the database owner ${owner}`)
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    await admin.unsafe(`create role ${owner} login createrole createdb password '${password}'`)
    await admin.unsafe(`create database ${cluster.DatabaseName} owner ${owner}`)
  } finally {
    await admin.end()
  }
}
