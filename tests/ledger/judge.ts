import { kindOf, type Part } from './kinds.ts'
import type { Line, Responded, Sent } from './ledger.ts'

/** What the stage holds of one request: how often, by part. */
export interface Effects {
  readonly row: number
  readonly audit: number
  readonly event: number
  readonly job: number
  /** How many different links were mailed. */
  readonly links?: number
  /** How many of its events the bus did not get. */
  readonly unpublished?: number
}

/** What database, mailbox, event bus and audit log hold after the last request. */
export interface Found {
  /** By the marker of the request. */
  readonly effects: ReadonlyMap<string, Effects>
  /** The sessions that are alive, by id. */
  readonly alive: ReadonlySet<string>
  /** What belongs to no request, or contradicts what else is there, in words. */
  readonly contradictions: readonly string[]
}

export const FAULTS = [
  'lost',
  'doubled',
  'partial',
  'foreign',
  'resurrected',
  'refused but done',
  'undelivered',
  'wrong status',
  'contradiction',
] as const

export type Fault = (typeof FAULTS)[number]

/** A broken promise. */
export interface Finding {
  readonly fault: Fault
  readonly scenario: string
  /** The marker of the request. Empty for a contradiction in the stage. */
  readonly id: string
  readonly text: string
}

export interface Entry extends Sent {
  /** Null for a request that was never answered, also because the client was killed. */
  readonly response: Responded | null
}

/** The failures of the gateway and of its parts. A client repeats such a request later. */
const UNAVAILABLE = new Set([502, 503, 504])
const NOTHING: Effects = { row: 0, audit: 0, event: 0, job: 0 }

export const isAcknowledged = ({ response }: Pick<Entry, 'response'>): boolean =>
  response?.status !== null && response !== null && response.status >= 200 && response.status < 300

/** Whether the response neither says that the request was done nor why it will never be. */
const isOpen = ({ response }: Entry): boolean => response === null || response.status === null || response.status >= 500

/** Returns each request with its response. */
export function entriesOf(lines: readonly Line[]): Entry[] {
  const responses = new Map(lines.flatMap((line) => (line.what === 'response' ? [[line.id, line]] : [])))
  return lines.flatMap((line) => (line.what === 'sent' ? [{ ...line, response: responses.get(line.id) ?? null }] : []))
}

/** Holds the ledger against what was found. Returns every broken promise. */
export function judge(lines: readonly Line[], found: Found): Finding[] {
  const entries = entriesOf(lines)
  const groups = Map.groupBy(entries, ({ id, repeats }) => repeats ?? id)
  return [
    ...[...groups.values()].flatMap((attempts) => judgeWrite(attempts, found)),
    ...judgeResponses(entries),
    ...judgeSessions(entries, found),
    ...found.contradictions.map((text) => ({ fault: 'contradiction' as const, scenario: '', id: '', text })),
  ]
}

/** Judges all attempts of one write. A row bears the marker of the first attempt, audit entries that of their own. */
function judgeWrite(attempts: readonly Entry[], found: Found): Finding[] {
  const [first] = attempts
  if (first === undefined) return []
  const { parts } = kindOf(first.kind)
  if (parts.length === 0) return []
  const finding = (fault: Fault, text: string): Finding => ({
    fault,
    scenario: first.scenario,
    id: first.id,
    text: `${first.kind} ${text}`,
  })
  const all = attempts.map(({ id }) => found.effects.get(id) ?? NOTHING)
  const effects = all.reduce((sum, each) => ({
    row: Math.max(sum.row, each.row),
    audit: sum.audit + each.audit,
    event: sum.event + each.event,
    job: sum.job + each.job,
  }))
  const counts = parts.map((part: Part) => effects[part])
  const shown = parts.map((part: Part) => `${part} ${effects[part]}`).join(', ')
  const most = Math.max(...counts)
  const least = Math.min(...counts)
  const findings: Finding[] = []
  if (most > 1) findings.push(finding('doubled', `is there more than once: ${shown}`))
  else if (most !== least) findings.push(finding('partial', `is there in part: ${shown}`))
  const acknowledged = attempts.some(isAcknowledged)
  if (acknowledged && most === 0) findings.push(finding('lost', 'was acknowledged and is not there'))
  if (!acknowledged && most > 0 && !attempts.some(isOpen))
    findings.push(finding('refused but done', `was refused with ${first.response?.status} and is there: ${shown}`))
  for (const { links, unpublished = 0 } of all) {
    if (links !== undefined && most === 1 && links === 0) findings.push(finding('undelivered', 'was never mailed'))
    if (links !== undefined && links > 1) findings.push(finding('doubled', `was mailed with ${links} links`))
    if (links !== undefined && links > 0 && most === 0) findings.push(finding('partial', 'was mailed and is not there'))
    if (unpublished > 0) findings.push(finding('undelivered', 'has an event that the bus never got'))
  }
  return findings
}

function judgeResponses(entries: readonly Entry[]): Finding[] {
  const endSentAt = new Map(entries.flatMap(({ ends = [], at }) => ends.map((session) => [session, at])))
  return entries.flatMap(({ id, kind, scenario, session = '', response }): Finding[] => {
    if (response === null || response.status === null) return []
    const { status, foreign, text = '', at } = response
    const isEnding = status === 401 && at >= (endSentAt.get(session) ?? Infinity)
    const isExpected = status < 300 || UNAVAILABLE.has(status) || isEnding || kindOf(kind).refusals?.includes(status)
    return [
      ...foreign.map((each): Finding => ({ fault: 'foreign', scenario, id, text: `${kind} returned ${each}` })),
      ...(isExpected ? [] : [{ fault: 'wrong status' as const, scenario, id, text: `${kind}: ${status} ${text}` }]),
    ]
  })
}

/** A session whose end was acknowledged serves no request that is sent later, and is not alive at the end. */
function judgeSessions(entries: readonly Entry[], { alive }: Found): Finding[] {
  const endedAt = new Map<string, number>()
  for (const entry of entries)
    if (isAcknowledged(entry)) for (const id of entry.ends ?? []) endedAt.set(id, entry.response?.at ?? entry.at)
  const used = entries.filter(
    (entry) => isAcknowledged(entry) && entry.at > (endedAt.get(entry.session ?? '') ?? Infinity),
  )
  return [
    ...used.map(({ id, scenario, kind }): Finding => {
      return { fault: 'resurrected', scenario, id, text: `${kind} succeeded in a session that had ended` }
    }),
    ...[...endedAt.keys()]
      .filter((session) => alive.has(session))
      .map(
        (session): Finding => ({ fault: 'resurrected', scenario: '', id: session, text: 'is alive in the database' }),
      ),
  ]
}
