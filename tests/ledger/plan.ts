import type { Kind } from './kinds.ts'
import type { Sent } from './ledger.ts'
import { markOf, type Person, type Shop } from './shops.ts'

/** What a response told. `body` is the parsed JSON. */
export interface Answer {
  readonly isDone: boolean
  /** Whether the request may have been done all the same, or may yet be. */
  readonly isOpen: boolean
  readonly body: any
  readonly etag: string | null
}

/** A request before it is sent. */
export interface Plan extends Pick<Sent, 'kind' | 'tenant' | 'target' | 'session' | 'ends' | 'proof'> {
  readonly route: string
  readonly token?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the API makes a second attempt safe. */
  readonly isRepeatable?: boolean
  /** Keeps what later requests need. */
  readonly settle?: (answer: Answer) => void
}

export interface Session {
  readonly id: string
  /** The name of its token in the ledger, if the session may get another one. */
  readonly name?: string
  readonly token: string
  readonly person: Person
}

/** A session that has selected no tenant, and who gets it when it has. */
interface Pending {
  readonly session: Session
  readonly selected: () => void
}

/** The sessions of people that later requests use. */
export interface Pool {
  readonly pending: Pending[]
  /** Those that may end. */
  readonly spare: Session[]
  /** Those that may step up. */
  readonly proven: Session[]
  /** Those that have ended, or whose token has. */
  readonly ended: Session[]
}

const MOST_ENDED = 50

export const keepEnded = ({ ended }: Pool, session: Session): void => keep(ended, session, MOST_ENDED)

/** Returns the part of a request that says in which session it is sent. */
export const within = ({ id, name = id, token, person }: Session): Pick<Plan, 'tenant' | 'session' | 'token'> => ({
  tenant: person.tenant,
  session: name,
  token,
})

/** Plans a request of a kind under a marker. Returns undefined when there is nothing to do it with. */
export type Planner = (marker: string, shop: Shop) => Plan | undefined | Promise<Plan | undefined>

export type Planners<Some extends Kind> = Readonly<Record<Some, Planner>>

/** The sessions of the staff by tenant. Newer ones take their places. */
export type StaffSessions = ReadonlyMap<number, Session[]>

/** Returns the part of a request that says who sends it. */
export function sentBy(staff: StaffSessions, tenant: number): Pick<Plan, 'tenant' | 'session' | 'token'> {
  const session = pick(staff.get(tenant) ?? [])
  if (session === undefined) throw new Error(`nobody of tenant ${tenant} has signed in`)
  return within(session)
}

export const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(Math.random() * from.length)]

/** Removes any item. An unanswered request may have changed its target, so each is used once. */
export const take = <T>(from: T[]): T | undefined => from.splice(Math.floor(Math.random() * from.length), 1)[0]

const MOST_KEPT = 200

/** Adds an item. The oldest goes when there are many, so that the client does not grow. */
export function keep<T>(list: T[], item: T, most = MOST_KEPT): void {
  list.push(item)
  if (list.length > most) list.shift()
}

let markers = 0

/** Returns the marker of the next request in a tenant, without a long number: no name may hold one. */
export const nextMarker = (tenant: number): string => {
  markers += 1
  const letters = Array.from(String(markers).padStart(6, '0'), (digit) => 'abcdefghij'[Number(digit)])
  return `${markOf(tenant)}${letters.join('')}`
}
