import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError } from '#shared/base/config.ts'
import { readIfThere, writePrivateFile } from './private-file.ts'
import { SEED_PASSWORD, seedEmails } from './seed.ts'
import { forget, type StackInfo, startStack } from './stack.ts'

const HELP = `npm start [-- --fresh]

Starts the whole service on this machine. --fresh deletes all local data first.
Settings are environment variables. PORT (3000) is the port of the API, WEB_PORT (3001) of the front end; 0 is any free
port. DATABASE_URL uses another Postgres server, REDIS_URL another Redis server.`

const stateDir = process.env['STATE_DIR'] ?? '.local'
const stackFile = join(stateDir, 'stack.json')

/** Returns the stack that runs on this state, or null. The file alone is no proof: a killed stack leaves it behind. */
async function running(): Promise<StackInfo | null> {
  const text = await readIfThere(stackFile)
  if (text === undefined) return null
  const info: StackInfo = JSON.parse(text)
  try {
    process.kill(info.pid, 0)
    // Another process may have this id by now.
    const response = await fetch(`${info.control_url}/calls`, { signal: AbortSignal.timeout(2000) })
    return response.ok ? info : null
  } catch {
    return null
  }
}

function port(name: string, fallback: number): number {
  const value = process.env[name] ?? String(fallback)
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new ConfigError(`Settings that do not parse: ${name} must be a port`)
  return Number(value)
}

async function main(): Promise<number | null> {
  const { values } = parseArgs({ options: { fresh: { type: 'boolean' }, help: { type: 'boolean' } } })
  if (values.help === true) {
    console.log(HELP)
    return 0
  }
  const already = await running()
  if (already !== null) {
    console.error(`Already running on ${stateDir}: ${already.gateway_url} (process ${already.pid}). Stop it first.`)
    return 1
  }
  const ports = { port: port('PORT', 3000), webPort: port('WEB_PORT', 3001) }
  if (values.fresh === true) await forget(stateDir)
  const started = performance.now()
  const stack = await startStack({ stateDir, ...ports, env: process.env })
  await writePrivateFile(stackFile, `${JSON.stringify(stack.info, null, 2)}\n`)
  announce(stack.info, stack.logFile, (performance.now() - started) / 1000)

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    console.log('\nStopping …')
    await stack.close()
    await rm(stackFile, { force: true })
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
  return null
}

function announce(info: StackInfo, logFile: string, seconds: number): void {
  const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
  console.log(`
Tenantry ${version} is ready (${seconds.toFixed(1)} s)

  API        ${info.gateway_url}
  front end  ${info.web_url}
  mailbox    ${info.mailbox_url}
  events     ${info.events_url}
  faults     ${info.control_url}
  database   ${info.database_url}
  cache      ${info.cache === 'redis' ? 'redis' : 'in-process (found no redis-server or valkey-server on this machine)'}
  logs       ${logFile}

Users, all with the password "${SEED_PASSWORD}":
${seedEmails.map((email) => `  ${email}`).join('\n')}
  ${info.second_factor.email}, with an authenticator app: type the secret ${info.second_factor.totp_secret} into yours,
  or sign in with one of the recovery codes in ${stackFile}

Vendor accounts that the local vendors accept:
${info.vendors.map(({ code, account_number, secret }) => `  ${code}: account number ${account_number}, secret ${secret}`).join('\n')}

${stackFile} has the addresses, vendor accounts and recovery codes. Ctrl-C stops everything and keeps the data.`)
}

try {
  const code = await main()
  if (code !== null) process.exit(code)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
