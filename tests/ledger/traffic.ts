import { setTimeout as delay } from 'node:timers/promises'
import { type Kind, kindOf, type Mix, MIXES } from './kinds.ts'
import { type Ledger, now } from './ledger.ts'
import { type Answer, nextMarker, type Plan, type Planners, pick } from './plan.ts'
import { markOf, marksIn, type Shop } from './shops.ts'

/** Longer than the gateway waits for a function. */
const TIMEOUT_MS = 15_000
const REPEAT_AFTER_MS = 3000
const MOST_ATTEMPTS = 3
const KEPT_TEXT = 2000

/** Requests at a steady rate, whether the service responds or not. */
export interface Traffic {
  scenario: string
  mix: Mix
  rate: number
  /** Sends one request, writes it and its response to the ledger, and returns the response. */
  send(plan: Plan, marker?: string): Promise<Answer>
  /** Plans and sends one request of the mix. */
  sendOne(planners: Planners<Kind>): Promise<void>
  /** Begins to send. */
  start(planners: Planners<Kind>): void
  /** Sends no more. Resolves when every request was answered, or will not be. */
  stop(): Promise<void>
}

const NO_ANSWER: Answer = { isDone: false, isOpen: true, body: null, etag: null }

export function createTraffic(options: { url: string; ledger: Ledger; shops: readonly Shop[]; rate: number }): Traffic {
  const { url, ledger, shops } = options
  const running = new Set<Promise<unknown>>()
  const stopped = new AbortController()
  let sending: Promise<void> = Promise.resolve()

  const attempt = async (plan: Plan, id: string, repeats?: string): Promise<Answer> => {
    const { kind, tenant, target, session, ends, proof, route, token, body, headers } = plan
    const [method = '', path = ''] = route.split(' ')
    const init: RequestInit = {
      method,
      headers: {
        'x-request-id': id,
        'user-agent': id,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const { scenario } = traffic
    ledger.write({ what: 'sent', id, at: now(), kind, tenant, scenario, target, repeats, session, ends, proof })
    try {
      const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
      const text = await response.text()
      const { status } = response
      const foreign = foreignIn(text, response.headers.get('x-tenant-id'), shops, tenant)
      const isDone = status < 300
      const { parts, givesToken } = kindOf(kind)
      // A token is a secret. The ledger needs none.
      const isKept = !isDone || (parts.length > 0 && givesToken !== true)
      ledger.write({
        what: 'response',
        id,
        at: now(),
        status,
        foreign,
        text: isKept ? text.slice(0, KEPT_TEXT) : undefined,
      })
      const parsed = isDone && text !== '' ? JSON.parse(text) : null
      return { isDone, isOpen: status >= 500, body: parsed, etag: response.headers.get('etag') }
    } catch (error) {
      ledger.write({ what: 'response', id, at: now(), status: null, foreign: [], text: String(error) })
      return NO_ANSWER
    }
  }

  const send = async (plan: Plan, marker = nextMarker(plan.tenant)): Promise<Answer> => {
    let answer = await attempt(plan, marker)
    for (let attempts = 1; answer.isOpen && plan.isRepeatable === true && attempts < MOST_ATTEMPTS; attempts += 1) {
      await delay(REPEAT_AFTER_MS)
      answer = await attempt(plan, nextMarker(plan.tenant), marker)
    }
    plan.settle?.(answer)
    return answer
  }

  const sendOne = async (planners: Planners<Kind>): Promise<void> => {
    const shop = pick(shops)
    if (shop === undefined) return
    const marker = nextMarker(shop.tenant)
    const plan = await planners[draw(traffic.mix)](marker, shop)
    const next = plan ?? (await planners.check(marker, shop)) ?? failed('nobody has signed in')
    await send(next, next.tenant === shop.tenant ? marker : undefined)
  }

  const track = (work: Promise<unknown>): void => {
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  const traffic: Traffic = {
    scenario: 'warm-up',
    mix: MIXES.all,
    rate: options.rate,
    send,
    sendOne,
    start: (planners) => {
      sending = (async () => {
        for (let due = now(); !stopped.signal.aborted; due += 1000 / traffic.rate) {
          await delay(Math.max(0, due - now()))
          track(sendOne(planners))
        }
      })()
    },
    stop: async () => {
      stopped.abort()
      await sending
      while (running.size > 0) await Promise.all(running)
    },
  }
  return traffic
}

function failed(message: string): never {
  throw new Error(message)
}

/** Returns a kind by the weights of a mix. */
function draw(mix: Mix): Kind {
  const kinds = Object.entries(mix) as [Kind, number][]
  let left = Math.random() * kinds.reduce((sum, [, weight]) => sum + weight, 0)
  return kinds.find(([, weight]) => (left -= weight) < 0)?.[0] ?? 'check'
}

/** Returns what a response to one tenant holds of the others. */
function foreignIn(text: string, tenantId: string | null, shops: readonly Shop[], tenant: number): string[] {
  const others = shops.filter((shop) => shop.tenant !== tenant)
  return [
    ...[...marksIn(text)].filter((mark) => mark !== markOf(tenant)),
    ...others.filter(({ id }) => id === tenantId || text.includes(id)).map(({ id }) => id),
  ]
}
