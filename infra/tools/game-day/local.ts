import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { urlFor } from '#infra/local/postgres/database.ts'
import { SEED_PASSWORD, seedEmails } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { operate } from '#infra/tools/operate.ts'

const POLL_MS = 100
const RESTORED = 'game_day_restored'

/** What an exercise showed: each fact, and whether it is as expected. */
interface Shown {
  readonly says: string
  readonly expected: boolean
}

interface LocalExercise {
  readonly name: string
  readonly title: string
  run(stack: StackInfo): Promise<readonly Shown[]>
}

type Part = 'postgres' | 'cache'

const setFault = async ({ control_url }: StackInfo, part: Part, mode: 'ok' | 'refuse'): Promise<void> => {
  await fetch(`${control_url}/faults`, { method: 'POST', body: JSON.stringify({ part, mode }) })
}

const ask = (stack: StackInfo, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(stack.gateway_url + path, init)

async function signIn(stack: StackInfo): Promise<string | null> {
  const body = JSON.stringify({ email: seedEmails[0], password: SEED_PASSWORD })
  const response = await ask(stack, '/v1/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (response.status !== 200) return null
  const { token }: { token: string } = JSON.parse(await response.text())
  return token
}

const sessionStatus = async (stack: StackInfo, token: string): Promise<number> =>
  (await ask(stack, '/v1/auth/session', { headers: { authorization: `Bearer ${token}` } })).status

const seconds = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`

const shown = (says: string, expected: boolean): Shown => ({ says, expected })

/** The database refuses every connection for some seconds, as while another instance becomes the writer. */
async function loseDatabase(stack: StackInfo): Promise<readonly Shown[]> {
  const token = (await signIn(stack)) ?? ''
  await setFault(stack, 'postgres', 'refuse')
  const statuses = new Set<number>()
  const lost = performance.now()
  while (performance.now() - lost < 3000) {
    statuses.add(await sessionStatus(stack, token))
    await delay(POLL_MS)
  }
  await setFault(stack, 'postgres', 'ok')
  const back = performance.now()
  while ((await sessionStatus(stack, token)) !== 200) await delay(POLL_MS)
  return [
    shown(
      `requests got ${[...statuses].join(' and ')} while the database was lost`,
      [...statuses].every((each) => each === 503),
    ),
    shown(`the session of before works ${seconds(back)} after the database was back`, true),
    shown('people sign in', (await signIn(stack)) !== null),
  ]
}

/** The cache refuses every call: the stage is degraded, and not down. */
async function loseCache(stack: StackInfo): Promise<readonly Shown[]> {
  await setFault(stack, 'cache', 'refuse')
  const signedIn = await signIn(stack)
  const ready = await ask(stack, '/health/ready')
  const body = await ready.text()
  await setFault(stack, 'cache', 'ok')
  return [
    shown('people sign in without the cache', signedIn !== null),
    shown(`GET /health/ready says ${ready.status} ${body}`, ready.status === 503 && /"cache":"failed"/.test(body)),
  ]
}

/** A copy of the database is verified beside it, after more was written. */
async function restore(stack: StackInfo): Promise<readonly Shown[]> {
  const admin = postgres(urlFor(stack.database_url, { database: 'postgres' }), { max: 1, onnotice: () => {} })
  const name = new URL(stack.database_url).pathname.slice(1)
  const drop = () => admin`drop database if exists ${admin(RESTORED)} with (force)`
  try {
    await drop()
    await setFault(stack, 'postgres', 'refuse')
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
    const begun = performance.now()
    await admin`create database ${admin(RESTORED)} template ${admin(name)} strategy file_copy`
    // A restored cluster keeps the permissions on its database. A copy inside of a server does not.
    await admin`revoke temporary on database ${admin(RESTORED)} from public`
    await setFault(stack, 'postgres', 'ok')
    while ((await signIn(stack)) === null) await delay(POLL_MS)
    const lines: string[] = []
    const output = { log: (line: string) => lines.push(line), error: (line: string) => lines.push(line) }
    const host = '127.0.0.1'
    const code = await operate(['verify-restore', host, '--database', RESTORED, '--json'], output)
    const text = lines.join('\n')
    return [
      shown(`the copy was made and verified in ${seconds(begun)}`, code === 0),
      shown('the doctor finds no fault in the copy', text.includes('Faults: 0.')),
      shown(
        'the copy lacks the session that was opened after it',
        /"table":"sessions"[^}]*"difference":-\d/.test(text),
      ),
    ]
  } finally {
    await setFault(stack, 'postgres', 'ok')
    await drop()
    await admin.end()
  }
}

/** The exercises that the local stack (`npm start`) can do by itself. */
export const LOCAL_EXERCISES: readonly LocalExercise[] = [
  { name: 'failover', title: 'The database is lost for three seconds', run: loseDatabase },
  { name: 'cache', title: 'The cache is lost', run: loseCache },
  { name: 'restore', title: 'A copy of the database is restored beside it', run: restore },
]

/** Runs exercises against the local stack, one after the other, with a clock. Returns whether each showed what it should. */
export async function runLocally(exercises: readonly LocalExercise[], log: (line: string) => void): Promise<boolean> {
  const file = join(process.env['STATE_DIR'] ?? '.local', 'stack.json')
  const stack: StackInfo = JSON.parse(await readFile(file, 'utf8'))
  let good = true
  for (const each of exercises) {
    log(`## ${each.name}: ${each.title}`)
    for (const { says, expected } of await each.run(stack)) {
      log(`${expected ? 'ok  ' : 'NOT '} ${says}`)
      good &&= expected
    }
  }
  return good
}
