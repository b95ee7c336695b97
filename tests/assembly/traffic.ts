import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { vi } from 'vitest'
import { tokenIn } from '#tests/support/mail.ts'
import { PASSWORD, type TestService } from '#tests/support/service.ts'
import type { AssembledService } from './service.ts'

/** What a request creates. */
type Kind = 'session' | 'invitation' | 'deal'

/** A request that creates something under a name of its own. It is in the ledger before it is sent. */
interface Entry {
  readonly kind: Kind
  readonly name: string
  /** Null until the response. */
  status: number | null
  token?: string
}

const CLIENTS = 2
const UNAVAILABLE = 503
/** Each version starts its instances, which takes long on a busy machine. */
export const WAIT_MS = 90_000
const JOBS = ['deliver-mail', 'audit-sign-ins', 'measure']

/** Clients and jobs that work until `stop`. */
export interface Traffic {
  /** The responses that are neither expected nor a 503, and the jobs that failed. */
  readonly failures: readonly string[]
  /** How many responses had each status. */
  readonly statuses: ReadonlyMap<number, number>
  /** Resolves after this many further responses. */
  further(responses: number): Promise<void>
  stop(): Promise<void>
  /** Returns every difference between the ledger and the stage: what was acknowledged is there once, what was not at most once. */
  differences(): Promise<string[]>
}

/** Starts clients that sign in, read, invite and create deals in a tenant, and the jobs that work for them. */
export async function startTraffic(service: AssembledService & TestService): Promise<Traffic> {
  const { owner, viewer } = await service.newTenant('owner', 'viewer')
  const ledger: Entry[] = []
  const failures: string[] = []
  const statuses = new Map<number, number>()
  let responses = 0
  const stopped = new AbortController()

  const ask = async (expected: number, route: string, options: Parameters<TestService['request']>[1]) => {
    const answer = await service.request(route, options)
    responses += 1
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (![expected, UNAVAILABLE].includes(answer.status)) failures.push(`${route}: ${answer.status} ${answer.text}`)
    return answer
  }
  const create = async (kind: Kind, send: (name: string) => ReturnType<typeof ask>) => {
    const entry: Entry = { kind, name: randomUUID(), status: null }
    ledger.push(entry)
    const { status, body } = await send(entry.name)
    entry.status = status
    if (kind === 'session' && status === 200) entry.token = body.token
  }
  const credentials = { email: 'owner@acme.test', password: PASSWORD }
  const { token } = owner
  const client = async () => {
    while (!stopped.signal.aborted) {
      await create('session', (name) =>
        ask(200, 'POST /v1/auth/login', { body: credentials, headers: { 'user-agent': name } }),
      )
      await ask(401, 'POST /v1/auth/login', { body: { ...credentials, password: 'never right, and long enough' } })
      await ask(200, 'GET /v1/auth/session', { token })
      await ask(200, 'GET /v1/members', { token })
      await create('deal', (name) => ask(200, 'POST /v1/deals', { token, body: { customer_name: name } }))
      await ask(200, 'GET /v1/deals', { token })
      await create('invitation', (name) =>
        ask(200, 'POST /v1/members/invite', { token, body: { email: `${name}@new.test`, role: 'viewer' } }),
      )
      const refused = { email: 'refused@new.test', role: 'viewer' }
      await ask(403, 'POST /v1/members/invite', { token: viewer.token, body: refused })
    }
  }
  const jobs = async () => {
    while (!stopped.signal.aborted) {
      for (const name of JOBS) await service.invoke(name, {}).catch((error: unknown) => failures.push(String(error)))
      await delay(100)
    }
  }
  const working = Promise.all([jobs(), ...Array.from({ length: CLIENTS }, client)])
  // `stop` awaits them and reports their failure.
  working.catch(() => {})

  const counts = async (): Promise<Readonly<Record<Kind, ReadonlyMap<string, number>>>> => {
    const { sql } = service
    const counted = async (rows: Promise<{ name: string; count: number }[]>) =>
      new Map((await rows).map(({ name, count }) => [name, count]))
    return {
      session: await counted(sql`select user_agent as name, count(*)::int from app.sessions group by 1`),
      deal: await counted(sql`select customer_name as name, count(*)::int from app.deals group by 1`),
      invitation: await counted(sql`
        select split_part(email::text collate "C", '@', 1) as name, count(*)::int
          from app.tokens where purpose = 'invite' group by 1`),
    }
  }

  return {
    failures,
    statuses,
    further: async (more) => {
      const goal = responses + more
      const until = vi.waitUntil(() => responses >= goal, { timeout: WAIT_MS, interval: 20 })
      // A client that fails fails the test.
      await Promise.race([until, working])
    },
    stop: async () => {
      stopped.abort()
      await working
    },
    differences: async () => {
      const found = await counts()
      const differences: string[] = []
      for (const { kind, name, status, token: acknowledged } of ledger) {
        const count = found[kind].get(name) ?? 0
        if (status === 200 ? count !== 1 : count > 1) differences.push(`${kind}, status ${status}: ${count} times`)
        if (acknowledged !== undefined) await ask(200, 'GET /v1/auth/session', { token: acknowledged })
      }
      while (Object(await service.invoke('deliver-mail', {})).sent > 0);
      for (const { kind, name, status } of ledger) {
        if (kind !== 'invitation' || status !== 200) continue
        const links = new Set(service.mail.to(`${name}@new.test`).map((message) => tokenIn(message)))
        if (links.size !== 1) differences.push(`${links.size} links were mailed for an invitation`)
      }
      return [...differences, ...failures]
    },
  }
}
