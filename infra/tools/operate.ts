import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { Command, Outcome } from '#functions/operate/commands.ts'

const HELP = `npm run operate -- COMMAND [--stage NAME] [--json]

  create-tenant --slug S --name N --owner EMAIL [--timezone Z] [--currency C]
                                 open a shop; its first owner gets an invitation
  set-status SLUG STATUS         trial → active, past_due, suspended, cancelled; active ⇄ past_due;
                                 active, past_due → suspended, cancelled; suspended → active, cancelled.
                                 Suspending or cancelling ends every session in the shop
  disable-user EMAIL             end a person's sessions everywhere, and refuse every sign-in
  enable-user EMAIL              let a disabled person sign in again
  resend-invite SLUG EMAIL       send an open invitation anew; the link that was sent before is dead
  rotate-data-key SLUG           seal a shop's vendor secrets under a new data key, and destroy the old one. Reads and
                                 writes go on meanwhile; cut off, it is gone on with when given again. It names the
                                 accounts whose secret does not open, and keeps their key until they are revoked
  rewrap SLUG --key ARN          have KMS wrap a shop's data keys by another of its keys; the data keys stay as they are.
                                 Keys made later are wrapped by the key of the stage's settings: change that first
  shred SLUG                     erase a shop's vendor secrets and destroy its data keys. There is no way back by this
                                 service. What it cannot reach are backups, snapshots and the log of changes, which still
                                 hold the wrapped keys until they expire (Aurora: at most 35 days), and KMS would still
                                 unwrap those: only when the last backup is gone are the secrets gone everywhere

Runs against the local stack (npm start) or, with --stage, against the function of a deployed stage, with your AWS
credentials. Exits 0 when done, 1 when refused, 2 when used wrongly.`

const NOT_RUNNING = 'The local stack is not running: start it with npm start, or name a --stage'

class WrongUse extends Error {}

const options = {
  slug: { type: 'string' },
  name: { type: 'string' },
  owner: { type: 'string' },
  timezone: { type: 'string' },
  currency: { type: 'string' },
  key: { type: 'string' },
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
  'disable-user': { words: ['email'] },
  'enable-user': { words: ['email'] },
  'resend-invite': { words: ['slug', 'email'] },
  'rotate-data-key': { words: ['slug'] },
  rewrap: { words: ['slug'], needs: ['key'] },
  shred: { words: ['slug'] },
}

/** The function checks every field; what is checked here is that each has a name. */
function toCommand(positionals: readonly string[], given: Readonly<Record<string, string>>): Record<string, string> {
  const [command = '', ...values] = positionals
  const usage = USAGE[command]
  if (usage === undefined) throw new WrongUse(command === '' ? 'Which command?' : `There is no command ${command}`)
  const { words, needs = [], takes = [] } = usage
  if (values.length !== words.length) throw new WrongUse(`${command} takes ${words.join(' ') || 'options alone'}`)
  const flags = Object.entries(given).filter(([name]) => name !== 'stage')
  const unknown = flags.find(([name]) => !needs.includes(name) && !takes.includes(name))
  if (unknown !== undefined) throw new WrongUse(`${command} takes no --${unknown[0]}`)
  const missing = needs.find((name) => given[name] === undefined)
  if (missing !== undefined) throw new WrongUse(`${command} needs --${missing}`)
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
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return {
    client: new LambdaClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 }),
    functionName: 'operate',
  }
}

async function invoke(event: Command | Record<string, string>, stage: string | undefined): Promise<Outcome> {
  const { client, functionName } = await lambdaOf(stage)
  const command = new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(event) })
  const answer = await client.send(command).catch((error: unknown) => {
    const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    throw refused && stage === undefined ? new Error(NOT_RUNNING) : error
  })
  const payload = Buffer.from(answer.Payload ?? []).toString()
  if (answer.FunctionError !== undefined) throw new Error(`The function failed: ${payload}`)
  return JSON.parse(payload)
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help === true || positionals.length === 0) {
    console.log(HELP)
    return values.help === true ? 0 : 2
  }
  const { json = false, help: _, ...given } = values
  const command = toCommand(positionals, given)
  let outcome = await invoke(command, given.stage)
  while ('done' in outcome && outcome.done['finished'] === false) outcome = await invoke(command, given.stage)
  if (json) console.log(JSON.stringify(outcome))
  else if ('refused' in outcome) console.error(`Refused: ${outcome.refused}`)
  else if ('invalid' in outcome) console.error(`Not valid: ${outcome.invalid}`)
  else for (const [name, value] of Object.entries(outcome.done)) console.log(`${name}: ${String(value)}`)
  if ('invalid' in outcome) return 2
  return 'refused' in outcome ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const wrongUse = error instanceof WrongUse || (error instanceof TypeError && 'code' in error)
  console.error(wrongUse ? `${message}\n\n${HELP}` : message)
  process.exitCode = wrongUse ? 2 : 1
}
