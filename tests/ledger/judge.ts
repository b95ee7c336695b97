import { kindOf, type Part } from './kinds.ts'
import { type Line, type Responded, type Sent, SETTLED_MS } from './ledger.ts'

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
    ...judgeResponses(entries, found),
    ...judgeSessions(entries, found),
    ...judgeProofs(entries, found),
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

/** Whether anything of a write is there. */
const isThere = ({ id, kind }: Entry, { effects }: Found): boolean =>
  kindOf(kind).parts.some((part) => (effects.get(id) ?? NOTHING)[part] > 0)

interface End {
  readonly sentAt: number
  /** From when on it holds: its response, or when nothing works on it any more. */
  readonly overAt: number
}

/** Returns the end of each session and token that was ended. An end without a response counts exactly if it is there. */
function endsOf(entries: readonly Entry[], found: Found): ReadonlyMap<string, End> {
  const ends = new Map<string, End>()
  for (const entry of entries) {
    if (!isAcknowledged(entry) && !isThere(entry, found)) continue
    const answeredAt = entry.response?.at ?? entry.at
    const overAt = isAcknowledged(entry) ? answeredAt : answeredAt + SETTLED_MS
    for (const session of entry.ends ?? []) ends.set(session, { sentAt: entry.at, overAt })
  }
  return ends
}

/** The answers to a proof of a second factor that was accepted before, or of a sign-in that is finished. */
const REPLAY_REFUSALS = new Set([400, 422])

const isRefused = ({ response }: Entry): boolean => REPLAY_REFUSALS.has(response?.status ?? 0)

/** A proof of a second factor is accepted once, however often it is sent, and refused only after that. */
function judgeProofs(entries: readonly Entry[], found: Found): Finding[] {
  const proofs = Map.groupBy(entries, ({ proof }) => proof)
  proofs.delete(undefined)
  return [...proofs].flatMap(([proof, uses]): Finding[] => {
    const accepted = uses.filter((use) => isThere(use, found))
    const refused = uses.find(isRefused)
    const finding = (fault: Fault, { id, scenario }: Entry, text: string) => [
      { fault, id, scenario, text: `${proof} ${text}` },
    ]
    const [, again] = accepted
    if (again !== undefined) return finding('doubled', again, `was accepted ${accepted.length} times`)
    if (refused !== undefined && accepted.length === 0)
      return finding('lost', refused, 'was refused and never accepted')
    return []
  })
}

function judgeResponses(entries: readonly Entry[], found: Found): Finding[] {
  const ends = endsOf(entries, found)
  const sent = new Set<string>()
  return entries.flatMap((entry): Finding[] => {
    const { id, kind, scenario, session = '', proof, response } = entry
    const isReplay = proof !== undefined && sent.has(proof)
    if (proof !== undefined) sent.add(proof)
    if (response === null || response.status === null) return []
    const { status, foreign, text = '', at } = response
    const isEnding = status === 401 && at >= (ends.get(session)?.sentAt ?? Infinity)
    const isAllowed = isEnding || (isReplay && isRefused(entry)) || kindOf(kind).refusals?.includes(status)
    const isExpected = status < 300 || UNAVAILABLE.has(status) || isAllowed
    return [
      ...foreign.map((each): Finding => ({ fault: 'foreign', scenario, id, text: `${kind} returned ${each}` })),
      ...(isExpected ? [] : [{ fault: 'wrong status' as const, scenario, id, text: `${kind}: ${status} ${text}` }]),
    ]
  })
}

/**
 * A session or a token whose end is done serves no request that is sent later, and such a session is not alive at the end. A step-up ends no
 * session, whatever became of it.
 */
function judgeSessions(entries: readonly Entry[], found: Found): Finding[] {
  const ends = endsOf(entries, found)
  const used = entries.filter(
    (entry) => isAcknowledged(entry) && entry.at > (ends.get(entry.session ?? '')?.overAt ?? Infinity),
  )
  const gone = entries.filter(
    ({ kind, target = '' }) => kind === 'step-up' && !found.alive.has(target) && !ends.has(target),
  )
  return [
    ...used.map(({ id, scenario, kind }): Finding => {
      return { fault: 'resurrected', scenario, id, text: `${kind} succeeded in a session that had ended` }
    }),
    ...gone.map(({ id, scenario }): Finding => {
      return { fault: 'lost', scenario, id, text: 'step-up lost its session' }
    }),
    ...[...ends.keys()]
      .filter((session) => found.alive.has(session))
      .map(
        (session): Finding => ({ fault: 'resurrected', scenario: '', id: session, text: 'is alive in the database' }),
      ),
  ]
}
