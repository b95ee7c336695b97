import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReceivedEvent } from '#infra/local/aws/event-bridge.ts'
import { liveArn } from '#infra/local/aws/lambda.ts'
import { keptSecrets } from '#infra/local/secrets.ts'
import type { Fault } from '#infra/local/faults.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import type { Cleanup } from '#tests/bench/cleanup.ts'
import { startProcess } from '#tests/bench/processes.ts'
import { type Mail, tokenOf } from './found.ts'
import { makeReleases, type Releases } from './releases.ts'
import { type Server, startServer } from './server.ts'
import { SETTINGS } from './settings.ts'
import type { Question } from './stack-process.ts'

/** The stack in its process, with a Postgres of ours. */
export interface Stage {
  readonly info: StackInfo
  readonly secrets: Awaited<ReturnType<typeof keptSecrets>>
  readonly server: Server
  readonly releases: Releases
  readonly fault: (input: Partial<Fault>) => Promise<void>
  memory(): Promise<{ rssBytes: number; heaps: number[] }>
  /** Returns the token of the invitation that was mailed to an address, or null. */
  readToken(email: string): Promise<string | null>
  /** Adds the events that the bus has now: it keeps the last ten thousand. */
  collectEvents(): Promise<void>
  events(): readonly ReceivedEvent[]
  mails(): Promise<Mail[]>
  /** Runs the jobs until no mail, event or sync run is left, but not longer than this. */
  settle(mostMs: number): Promise<void>
}

const JOBS = ['deliver-mail', 'publish-events', 'sync-catalog', 'audit-sign-ins']

export async function startStage(folder: string, cleanup: Cleanup): Promise<Stage> {
  const server = await startServer(folder)
  cleanup.add(() => server.close())
  const env = { ...SETTINGS, DATABASE_URL: server.url, PATH: process.env['PATH'] ?? '' }
  const stateDir = join(folder, 'state')
  const stack = await startProcess<StackInfo, Question, any>('../ledger/stack-process.ts', { stateDir, env }, cleanup)
  const info = stack.greeting
  // The process answers one question at a time.
  let asked: Promise<unknown> = Promise.resolve()
  const ask = (question: Question): Promise<any> => {
    const answer = asked.then(() => stack.ask(question))
    asked = answer.catch(() => {})
    return answer
  }
  const read = async (url: string) => Object(await (await fetch(url)).json()).data
  const events = new Map<string, ReceivedEvent>()
  const collectEvents = async () => {
    const received: readonly ReceivedEvent[] = await read(info.events_url)
    for (const event of received) events.set(event.id, event)
  }
  const releases = await makeReleases({
    folder: join(folder, 'release'),
    databaseUrl: server.url,
    deploy: async (from, names) => {
      const { error } = await ask({ do: 'deploy', folder: from, names: [...names] })
      if (error !== null) throw new Error(error)
    },
  })
  const isIdle = () =>
    server.look(async (sql) => {
      const [row] = await sql<{ left: number }[]>`
        select ((select count(*) from app.jobs where kind <> 'verify-vendor' and completed_at is null and dead_at is null)
              + (select count(*) from app.events where job_id is null))::int as left`
      return row?.left === 0
    })
  const invoke = (name: string) =>
    fetch(`${info.lambda_url}/2015-03-31/functions/${liveArn(name)}/invocations`, { method: 'POST', body: '{}' })

  return {
    info,
    secrets: await keptSecrets(join(stateDir, 'secrets.json')),
    server,
    releases,
    fault: async (input) => {
      const response = await fetch(`${info.control_url}/faults`, { method: 'POST', body: JSON.stringify(input) })
      if (!response.ok) throw new Error(await response.text())
    },
    memory: () => ask({ do: 'memory' }),
    readToken: async (email) => {
      const [mail] = await read(`${info.mailbox_url}/messages?to=${encodeURIComponent(email)}`)
      return tokenOf(mail?.text ?? null)
    },
    collectEvents,
    events: () => [...events.values()],
    mails: () => read(`${info.mailbox_url}/messages`),
    settle: async (mostMs) => {
      for (const deadline = Date.now() + mostMs; !(await isIdle()); await delay(500)) {
        if (Date.now() > deadline) return
        await Promise.all(JOBS.map(invoke))
      }
    },
  }
}
