import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { examine, report } from '#shared/doctor/doctor.ts'

const HELP = `npm run doctor -- [postgres://…] [--json]

Examines a database: anything that lets a tenant reach another's rows, grants and migrations that differ from this
checkout, and problems to come. Runs one read-only transaction. Any login works; checks it may not run are listed as UNSEEN.

Without an address it uses DATABASE_URL, which keeps the password out of the process list, or the local stack (npm start).
Exit codes: 0 healthy, 1 faults found, 2 could not run.`

const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url))
const CONNECT_TIMEOUT_SECONDS = 10

class WrongUse extends Error {}

async function addressOf(given: string | undefined): Promise<string> {
  const address = given ?? process.env['DATABASE_URL']
  if (address !== undefined) return address
  const file = join(process.env['STATE_DIR'] ?? '.local', 'stack.json')
  const text = await readFile(file, 'utf8').catch(() => {
    throw new WrongUse('The local stack is not running: give an address or set DATABASE_URL')
  })
  const { database_url: url }: { database_url?: unknown } = JSON.parse(text)
  if (typeof url !== 'string') throw new WrongUse(`${file} has no database_url`)
  return url
}

function parseAddress(address: string): URL {
  const url = URL.parse(address)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) throw new WrongUse('The address is not a postgres:// URL')
  return url
}

/** Removes the password from a text. A library may print it percent-encoded or decoded. */
function withoutPassword(text: string, url: URL | null): string {
  if (url === null || url.password === '') return text
  let clear = text.replaceAll(url.password, '***')
  try {
    clear = clear.replaceAll(decodeURIComponent(url.password), '***')
  } catch {
    // Not percent-encoded: the first replacement was enough.
  }
  return clear
}

type Output = Pick<Console, 'log' | 'error'>

/** Runs a command line, and returns its exit code. */
export async function doctor(words: readonly string[], output: Output): Promise<number> {
  let url: URL | null = null
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
      allowPositionals: true,
    })
    if (values.help === true) {
      output.log(HELP)
      return 0
    }
    if (positionals.length > 1) throw new WrongUse('Give one address')
    url = parseAddress(await addressOf(positionals[0]))
    const sql = postgres(url.href, {
      max: 1,
      fetch_types: false,
      prepare: false,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      onnotice: () => {},
    })
    try {
      const diagnoses = await examine(sql, MIGRATIONS)
      const sound = diagnoses.every(({ severity }) => severity !== 'fault')
      if (values.json === true) output.log(JSON.stringify({ sound, diagnoses }))
      else
        for (const line of [
          `${url.username || 'the default user'} at ${url.host}${url.pathname}`,
          ...report(diagnoses),
        ])
          output.log(line)
      return sound ? 0 : 1
    } finally {
      await sql.end({ timeout: 1 })
    }
  } catch (error) {
    const message = withoutPassword(error instanceof Error ? error.message : String(error), url)
    const wrongUse = error instanceof WrongUse || (error instanceof TypeError && 'code' in error)
    output.error(wrongUse ? `${message}\n\n${HELP}` : `Could not examine the database: ${message}`)
    return 2
  }
}

if (import.meta.main) process.exitCode = await doctor(process.argv.slice(2), console)
