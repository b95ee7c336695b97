import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { MOST_LEAKED_KEYS, type Outcome } from '#functions/workers/operate/commands.ts'
import { NAMED_QUERIES } from '#functions/workers/operate/named-queries.ts'
import { AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { LOCAL_CREDENTIALS } from '#infra/local/aws/sts.ts'
import { isApiKey } from '#shared/secret/api-key.ts'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { signCommand } from './sign-command.ts'

const queries = Object.entries(NAMED_QUERIES)
  .map(([name, { shows }]) => `${' '.repeat(35)}${name.padEnd(16)} ${shows}`)
  .join('\n')

const HELP = `npm run operate -- COMMAND [--stage NAME] [--reason TEXT] [--json]

With --stage, a reason is required: one line. The audit log of each tenant that the command changes has it, and names you.

  create-tenant --slug S --name N --owner EMAIL [--timezone Z] [--currency C]
                                 create a tenant and invite its first owner
  set-status SLUG STATUS         trial → active, past_due, suspended, cancelled
                                 active ⇄ past_due
                                 active, past_due → suspended, cancelled
                                 suspended → active, cancelled
                                 suspended and cancelled end every session in the tenant
  invite-owner SLUG EMAIL        invite an owner into a tenant whose owners cannot sign in
  disable-user EMAIL [--force]   end a user's sessions in all tenants and refuse every sign-in. Without --force it refuses
                                 if a tenant would have no owner who can sign in, and names the tenants
  enable-user EMAIL              let a disabled user sign in again
  resend-invite SLUG EMAIL       send an open invitation again; the previous link stops working
  allow-invitations SLUG         let a tenant invite people again, after too many of its invitations came back
  unsuppress EMAIL               let an address get mail again after a bounce or a complaint, once its owner asks for it
  renew-seal                     replace the keys with which the database seals tickets. Requests in progress fail. Run it
                                 after a restore of a backup, or when somebody may have read the table app.seal
  send-events [--since TIME]     send the events immediately that wait for their next try, and those that were dead-lettered.
                                 With --since also those again that the bus took since then
  end-connections LOGIN [--pid PID]  end the connections of a login of this or another service, or only that of one process.
                                 Requests in progress fail. It ends none of the login that migrates
  create-partition YEAR          create the partition of the audit log for one of the last two years, this one or the next, and
                                 move the rows of that year into it
  show-second-factor EMAIL       show the factors of a user, without any secret, and how many recovery codes are left
  reset-second-factor EMAIL      remove the second factors and the password of a user who lost the phone and the recovery codes, after the
                                 hours of FACTOR_RESET_HOURS. Mails the user a link that cancels it, and then one for a new password. Also
                                 confirms what a manager requested for somebody with several tenants
  cancel-second-factor-reset EMAIL  cancel that, and mail the user
  reseal-factors                 seal the secrets of authenticator apps with the current factor key. Run it before you drop the previous
                                 key. If interrupted, run it again to resume. It lists apps that no key opens
  expire-recovery-codes --created-before TIME  end the recovery codes of all users that are older, and mail each user
  grant-service-tenant ROLE SLUG  let the background work of another service, which signs in to the database as ROLE, enter
                                 a tenant (app.enter_as_service)
  revoke-service-tenant ROLE SLUG  end that, after waiting for the work in progress
  create-service-key NAME [--scope SCOPE]...  create the key of a service. It is shown once. The list of keys has your name and
                                 the reason. Repeat --scope for each thing that the key is for: introspect, changes,
                                 memberships. Without --scope it is for all of them
  rotate-service-key NAME [--overlap HOURS]  create another key with the same scopes. The previous ones stay valid for the overlap: 24 hours, at
                                 most 720, or 0 for a key that somebody else may know
  revoke-service-key NAME        end every key of a service. Its next request is refused
  list-service-keys              list the keys, who created and ended each, and when it was last used. No key is shown
  list-api-keys SLUG             list the API keys of a tenant, what each may do and when it was last used. No key is shown
  revoke-api-key ID              end an API key. Its next request is refused
  revoke-leaked-keys < FILE      end the API keys in a file, such as the report of a scanner. It prints their ids and tenants, and no
                                 key. Other text in the file is ignored
  rotate-data-key SLUG           encrypt a tenant's vendor secrets with a new data key and destroy the old one. Runs
                                 online. If interrupted, run it again to resume. It lists vendor accounts whose secret
                                 does not decrypt, and keeps their key until the accounts are revoked
  rewrap SLUG --key ARN          have KMS wrap a tenant's data keys with another KMS key. The data keys do not change. New
                                 data keys are wrapped with the key in the stage's settings: change that first
  shred SLUG                     erase a tenant's vendor secrets and destroy its data keys. There is no way back. Backups,
                                 snapshots and the write-ahead log still contain the wrapped keys until they expire
                                 (Aurora: at most 35 days), and KMS can still unwrap those. The secrets are gone
                                 everywhere only when the last backup has expired
  sql NAME [--tenant SLUG]       read the database by one of these statements, as identity_operator:
${queries}
  doctor                         name the commit that runs, and examine the database as identity_operator.
                                 What that login may not read is UNSEEN
  verify-restore HOST [--database NAME]  examine a restored cluster, whose endpoint is HOST, and count its tenants, users,
                                 memberships and open sessions beside those of the current one

Runs against the local stack (npm start), or with --stage against a deployed stage, using your AWS credentials. AWS STS
confirms to the function whose credentials they are.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.`

const NOT_RUNNING = 'The local stack is not running. Run npm start, or name a stage with --stage'

/** The reason of a command on the local stack that names none. */
const LOCAL_REASON = { reason: 'on the local stack' }

class UsageError extends Error {}

const options = {
  slug: { type: 'string' },
  name: { type: 'string' },
  owner: { type: 'string' },
  timezone: { type: 'string' },
  currency: { type: 'string' },
  key: { type: 'string' },
  overlap: { type: 'string' },
  scope: { type: 'string', multiple: true },
  tenant: { type: 'string' },
  'created-before': { type: 'string' },
  database: { type: 'string' },
  since: { type: 'string' },
  pid: { type: 'string' },
  force: { type: 'boolean' },
  reason: { type: 'string' },
  stage: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

interface Usage {
  readonly words: readonly string[]
  readonly needs?: readonly string[]
  readonly takes?: readonly string[]
}

const USAGE: Readonly<Record<string, Usage>> = {
  'create-tenant': { words: [], needs: ['slug', 'name', 'owner'], takes: ['timezone', 'currency'] },
  'set-status': { words: ['slug', 'status'] },
  'invite-owner': { words: ['slug', 'email'] },
  'disable-user': { words: ['email'], takes: ['force'] },
  'enable-user': { words: ['email'] },
  'resend-invite': { words: ['slug', 'email'] },
  'allow-invitations': { words: ['slug'] },
  unsuppress: { words: ['email'] },
  'renew-seal': { words: [] },
  'send-events': { words: [], takes: ['since'] },
  'end-connections': { words: ['login'], takes: ['pid'] },
  'create-partition': { words: ['year'] },
  'show-second-factor': { words: ['email'] },
  'reset-second-factor': { words: ['email'] },
  'cancel-second-factor-reset': { words: ['email'] },
  'reseal-factors': { words: [] },
  'expire-recovery-codes': { words: [], needs: ['created-before'] },
  'grant-service-tenant': { words: ['role', 'slug'] },
  'revoke-service-tenant': { words: ['role', 'slug'] },
  'create-service-key': { words: ['name'], takes: ['scope'] },
  'rotate-service-key': { words: ['name'], takes: ['overlap'] },
  'revoke-service-key': { words: ['name'] },
  'list-service-keys': { words: [] },
  'list-api-keys': { words: ['slug'] },
  'revoke-api-key': { words: ['id'] },
  'revoke-leaked-keys': { words: [] },
  'rotate-data-key': { words: ['slug'] },
  rewrap: { words: ['slug'], needs: ['key'] },
  shred: { words: ['slug'] },
  sql: { words: ['name'], takes: ['tenant'] },
  doctor: { words: [] },
  'verify-restore': { words: ['host'], takes: ['database'] },
}

/** Gives each argument its name. Throws UsageError for missing and unknown ones. The function validates the values. */
function toCommand(
  positionals: readonly string[],
  given: Readonly<Record<string, string | boolean | readonly string[]>>,
): object {
  const [command = '', ...values] = positionals
  const usage = USAGE[command]
  if (usage === undefined) throw new UsageError(command === '' ? 'Name a command' : `There is no command ${command}`)
  const { words, takes = [] } = usage
  const needs = [...(usage.needs ?? []), 'reason']
  const flags = Object.entries({ ...(given['stage'] === undefined && LOCAL_REASON), ...given }).filter(
    ([name]) => name !== 'stage',
  )
  if (values.length !== words.length)
    throw new UsageError(`${command} takes ${words.join(' ').toUpperCase() || 'only options'}`)
  const unknown = flags.find(([name]) => !needs.includes(name) && !takes.includes(name))
  if (unknown !== undefined) throw new UsageError(`${command} has no option --${unknown[0]}`)
  const missing = needs.find((name) => !flags.some(([flag]) => flag === name))
  if (missing !== undefined) throw new UsageError(`${command} needs --${missing}`)
  return {
    command,
    ...Object.fromEntries(flags),
    ...Object.fromEntries(words.map((name, at) => [name, values[at] ?? ''])),
  }
}

async function lambdaOf(stage: string | undefined): Promise<{ client: LambdaClient; functionName: string }> {
  if (stage !== undefined) return { client: new LambdaClient(), functionName: `tenantry-${stage}-operate` }
  const stack = await readFile(join(process.env['STATE_DIR'] ?? '.local', 'stack.json'), 'utf8').catch(() => {
    throw new Error(NOT_RUNNING)
  })
  const { lambda_url: endpoint }: { lambda_url: string } = JSON.parse(stack)
  return {
    client: new LambdaClient({ endpoint, region: AWS_REGION, credentials: LOCAL_CREDENTIALS, maxAttempts: 1 }),
    functionName: 'operate',
  }
}

async function invoke(command: object, stage: string | undefined): Promise<Outcome> {
  const { client, functionName } = await lambdaOf(stage)
  const event = { ...command, caller: await signCommand(client, { functionName, command }) }
  const invocation = new InvokeCommand({
    FunctionName: functionName,
    Qualifier: LIVE_ALIAS,
    Payload: JSON.stringify(event),
  })
  const response = await client.send(invocation).catch((error: unknown) => {
    const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    throw refused && stage === undefined ? new Error(NOT_RUNNING) : error
  })
  const payload = Buffer.from(response.Payload ?? []).toString()
  if (response.FunctionError !== undefined) throw new Error(`The function ${functionName} failed: ${payload}`)
  return JSON.parse(payload)
}

async function run(words: readonly string[], { log, error }: Output, read: () => Promise<string>): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
  if (values.help === true || positionals.length === 0) {
    log(HELP)
    return values.help === true ? 0 : 2
  }
  const { json = false, help: _, ...given } = values
  const named = toCommand(positionals, given)
  const command = positionals[0] === 'revoke-leaked-keys' ? { ...named, keys: keysIn(await read()) } : named
  let outcome = await invoke(command, given.stage)
  while ('done' in outcome && outcome.done['finished'] === false) outcome = await invoke(command, given.stage)
  if (json) log(JSON.stringify(outcome))
  else if ('refused' in outcome) error(`Refused: ${outcome.refused}`)
  else if ('invalid' in outcome) error(`Invalid: ${outcome.invalid}`)
  else for (const [name, value] of Object.entries(outcome.done)) log(`${name}: ${lines(value)}`)
  if ('invalid' in outcome) return 2
  return 'refused' in outcome ? 1 : 0
}

/** Returns the API keys in a text, each once. */
function keysIn(text: string): string[] {
  const keys = [...new Set(text.match(/tnk_[0-9A-Za-z]{49}(?![0-9A-Za-z])/g))].filter(isApiKey)
  if (keys.length === 0) throw new UsageError('There is no API key in the input')
  if (keys.length > MOST_LEAKED_KEYS)
    throw new UsageError(`There are ${keys.length} API keys in the input. Give at most ${MOST_LEAKED_KEYS}`)
  return keys
}

/** Returns a value of an outcome as text, a list with a line for each item. */
const lines = (value: unknown): string =>
  Array.isArray(value)
    ? value.map((item) => `\n  ${typeof item === 'string' ? item : JSON.stringify(item)}`).join('')
    : String(value)

type Output = Pick<Console, 'log' | 'error'>

/** Runs a command line, and returns its exit code. `read` returns what is piped into it. */
export async function operate(
  words: readonly string[],
  output: Output,
  read: () => Promise<string> = () => text(process.stdin),
): Promise<number> {
  try {
    return await run(words, output, read)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isUsageError = error instanceof UsageError || (error instanceof TypeError && 'code' in error)
    output.error(isUsageError ? `${message}\n\n${HELP}` : message)
    return isUsageError ? 2 : 1
  }
}

if (import.meta.main) process.exitCode = await operate(process.argv.slice(2), console)
