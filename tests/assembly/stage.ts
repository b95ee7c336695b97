import { randomBytes } from 'node:crypto'
import { AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { liveArn } from '#infra/local/aws/lambda.ts'
import { ADDED_SETTINGS, CACHE_SECRET, placedAt, REPLACED_SETTINGS, SECRET_FIELDS } from './overrides.ts'
import type { DeployedFunction } from './runtime-api.ts'
import {
  type Assembly,
  type DeclaredFunction,
  declaredFunctions,
  ofType,
  type Resolve,
  resolver,
  type Running,
  secretOf,
  Undeployable,
} from './template.ts'

/** The values of a stage's secrets, by the logical id of each. */
export type SecretValues = Readonly<Record<string, string>>

/** The addresses of the stage's parts on this machine. */
export interface Addresses {
  readonly databasePort: number
  readonly cache: { readonly url: string; readonly token: string }
  readonly caFile: string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** Generates a password like Secrets Manager, but only of letters and digits. */
const generated = (length: number): string =>
  Array.from(randomBytes(length), (byte) => LETTERS[byte % LETTERS.length]).join('')

/** Creates the secrets that the template declares, and attaches them to the database. Throws Undeployable if it cannot. */
export function makeSecrets(
  assembly: Assembly,
  { databasePort, cache }: Pick<Addresses, 'databasePort' | 'cache'>,
): SecretValues {
  const made = new Map<string, string>()
  const declared = new Map(ofType(assembly, 'AWS::SecretsManager::Secret'))
  const valueOf = (id: string): string => {
    const value = made.get(id) ?? generate(id)
    made.set(id, value)
    return value
  }
  const resolve = resolver(assembly, { keyArn: keyArnOf, secretValue: valueOf })
  const generate = (id: string): string => {
    const { GenerateSecretString: how } = declared.get(id) ?? {}
    if (how === undefined) throw new Undeployable(`${id} has no value`)
    const { PasswordLength = 32, SecretStringTemplate, GenerateStringKey } = how
    const password = generated(PasswordLength)
    if (SecretStringTemplate === undefined) return password
    const fields = { ...JSON.parse(resolve(SecretStringTemplate, id)), [GenerateStringKey]: password }
    const overrides = Object.entries(SECRET_FIELDS).find(([begin]) => id.startsWith(begin))?.[1] ?? {}
    for (const name of Object.keys(overrides))
      if (!(name in fields)) throw new Undeployable(`${id} has no field ${name}`)
    return JSON.stringify({ ...fields, ...overrides, ...(id.startsWith(CACHE_SECRET) ? cache : {}) })
  }
  // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-secretsmanager-secrettargetattachment.html
  for (const [id, { TargetId }] of ofType(assembly, 'AWS::SecretsManager::SecretTargetAttachment')) {
    const secret = secretOf(assembly, id)
    const { DatabaseName: dbname } = assembly.resources[TargetId.Ref]?.Properties ?? {}
    const server = { engine: 'postgres', host: 'localhost', port: databasePort, dbname }
    made.set(secret, JSON.stringify({ ...JSON.parse(valueOf(secret)), ...server }))
  }
  for (const id of declared.keys()) valueOf(id)
  return Object.fromEntries(made)
}

/** Returns the ARN of a key that encrypts nothing here. */
const keyArnOf = (id: string): string => `arn:aws:kms:${AWS_REGION}:000000000000:key/${id}`

/** Returns the logical id of the vault's key. Throws Undeployable if no function has VAULT_KEY_ID. */
export function vaultKey(assembly: Assembly): string {
  for (const { variables } of declaredFunctions(assembly).values()) {
    const id = Object(variables['VAULT_KEY_ID'])['Fn::GetAtt']?.[0]
    if (id !== undefined) return id
  }
  throw new Undeployable('no function has a VAULT_KEY_ID')
}

/** Returns a resolver of the template's values for these secrets and a local vault key. */
export const stageResolver = (assembly: Assembly, secrets: SecretValues, vaultKeyArn: string): Resolve => {
  const vault = vaultKey(assembly)
  const running: Running = {
    keyArn: (id) => (id === vault ? vaultKeyArn : keyArnOf(id)),
    secretValue: (id) => secrets[id] ?? '',
  }
  return resolver(assembly, running)
}

/** Returns the secrets by their names in Secrets Manager. `dbname` replaces the database in each login. */
export const secretsFor = (secrets: SecretValues, dbname: string | null): Record<string, string> =>
  Object.fromEntries(
    Object.entries(secrets).map(([id, value]) => {
      const fields: unknown = value.startsWith('{') ? JSON.parse(value) : value
      const isLogin = dbname !== null && typeof fields === 'object' && fields !== null && 'dbname' in fields
      return [id, isLogin ? JSON.stringify({ ...fields, dbname }) : value]
    }),
  )

/** Returns the password of each database role. */
export function passwords(secrets: SecretValues): Record<string, string> {
  const logins = Object.values(secrets).flatMap((value) => (value.startsWith('{') ? [JSON.parse(value)] : []))
  return Object.fromEntries(
    logins.filter(({ username }) => username !== undefined).map(({ username, password }) => [username, password]),
  )
}

/**
 * Returns the local URLs of the vendors, and by the address of each the port that the template names for it. All local vendors
 * have one port. A vendor on another port than HTTPS gets another name of the host, so that its sockets can be told from the others.
 */
function localVendors(declared: string, local: string) {
  const ports = new Map(
    Object.entries<string>(JSON.parse(declared)).map(([code, url]) => [code, Number(new URL(url).port) || 443]),
  )
  const urls = Object.entries<string>(JSON.parse(local)).map(([code, url]): [string, string] => [
    code,
    ports.get(code) === 443 ? url : url.replace('127.0.0.1', 'localhost'),
  ])
  return {
    urls: Object.fromEntries(urls),
    ports: Object.fromEntries(urls.map(([code, url]) => [new URL(url).host, ports.get(code) ?? 443])),
  }
}

/**
 * Returns a function with the environment that Lambda would give it: the template's variables, Lambda's own, and the AWS
 * endpoints, but nothing of this process's environment. The access key id is the function's name.
 */
export function deployedFunction(
  declared: DeclaredFunction,
  options: {
    readonly resolve: Resolve
    readonly caFile: string
    readonly endpoints: Readonly<Record<string, string>>
    readonly replaced: Readonly<Record<(typeof REPLACED_SETTINGS)[number], string>>
    readonly added?: Readonly<Record<string, string>>
  },
): DeployedFunction {
  const { resolve, caFile, endpoints, replaced, added = {} } = options
  const { name, bundle, handler, variables, timeoutSeconds, memoryMib, egressPorts } = declared
  const places = placedAt({ bundle, caFile })
  const place = (value: string): string => {
    const [from, to] = [...places].find(([path]) => value === path || value.startsWith(`${path}/`)) ?? ['', '']
    return from === '' ? value : to + value.slice(from.length)
  }
  const settings = Object.fromEntries(
    Object.entries(variables).map(([key, value]) => [key, place(resolve(value, `${name}: ${key}`))]),
  )
  const vendorUrls = settings['VENDOR_URLS'] ?? '{}'
  for (const key of REPLACED_SETTINGS) if (settings[key] !== undefined) settings[key] = replaced[key]
  const vendors = localVendors(vendorUrls, settings['VENDOR_URLS'] ?? '{}')
  if (settings['VENDOR_URLS'] !== undefined) settings['VENDOR_URLS'] = JSON.stringify(vendors.urls)
  return {
    name,
    arn: liveArn(name),
    taskRoot: bundle,
    timeoutSeconds,
    environment: {
      ...ADDED_SETTINGS,
      ...settings,
      ...added,
      ...endpoints,
      EGRESS: JSON.stringify({ allowed: egressPorts, ports: vendors.ports }),
      // https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
      _HANDLER: handler,
      AWS_ACCESS_KEY_ID: name,
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_SESSION_TOKEN: 'local',
      AWS_DEFAULT_REGION: AWS_REGION,
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMib),
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: '1',
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: 'local',
      AWS_REGION,
      LAMBDA_TASK_ROOT: bundle,
      LANG: 'en_US.UTF-8',
      PATH: '/usr/local/bin:/usr/bin/:/bin',
      TZ: ':UTC',
    },
  }
}
