import { randomUUID } from 'node:crypto'
import type { CannonRequest } from 'autocannon'

/** A session that a server knows. */
export interface PeerSession {
  readonly token: string
  readonly role: string
  /** The ids of all tenants of its user. */
  readonly tenants: readonly string[]
  /** With a cookie cache: its cookies. They are sent in place of the token. */
  readonly cookies?: string
}

/** What a server knows. */
export interface PeerData {
  readonly sessions: readonly PeerSession[]
  /** Users with the same password. */
  readonly emails: readonly string[]
  readonly password: string
}

/** The requests of one operation. `at` counts the operations of a turn. */
type Operation = (session: PeerSession, at: number, data: PeerData) => readonly CannonRequest[]

/** The service, as in prod; with a session check that always moves the expiry; and behind the guard of another service. */
export const OWN = ['tenantry', 'moving', 'guard'] as const
export const CONTENDERS = ['select', 'function', 'better-auth', 'cookie-cache', ...OWN] as const
export type ContenderName = (typeof CONTENDERS)[number]

const credentials = ({ token, cookies }: PeerSession): Record<string, string> =>
  cookies === undefined ? { authorization: `Bearer ${token}` } : { cookie: cookies }

const get =
  (...paths: readonly string[]): Operation =>
  (session) =>
    paths.map((path) => ({ method: 'GET', path, headers: credentials(session) }))

const post = (path: string, session: PeerSession | null, body: object | null): CannonRequest => ({
  method: 'POST',
  path,
  headers: {
    ...(session === null ? {} : credentials(session)),
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  },
  ...(body === null ? {} : { body: JSON.stringify(body) }),
})

const tenantOf = ({ tenants }: PeerSession, at: number): string => tenants[at % tenants.length] ?? ''
const invited = () => ({ email: `invited-${randomUUID()}@bench.test`, role: 'sales' })
const signIn = ({ emails, password }: PeerData, at: number) => ({ email: emails[at % emails.length], password })

const BASE = '/api/auth'
const organization = `${BASE}/organization`
const session = get(`${BASE}/get-session`)
const fullAnswer = get(
  `${BASE}/get-session`,
  `${organization}/get-organization`,
  `${organization}/get-active-member-role`,
)
const members = get(`${organization}/list-members`)
const ownMembers = get('/v1/members?limit=50')
const tenants = get(`${organization}/list`)
const check = get('/v1/auth/session')

/** One thing that a client asks for, and how each server is asked. Servers that are not named do not offer it. */
export interface PeerCase {
  readonly name: string
  /** How many connections ask at the same time: many, and one. */
  readonly connections: readonly [many: number, one: 1]
  /** Which sessions may do it. */
  readonly as: 'anybody' | 'managers' | 'movers'
  readonly ask: Readonly<Partial<Record<ContenderName, Operation>>>
}

const MANY = 32
// A sign-in is the work of a processor: more would only wait for it.
const MANY_SIGN_INS = 8

export const CASES: readonly PeerCase[] = [
  {
    name: 'session',
    connections: [MANY, 1],
    as: 'anybody',
    ask: { select: check, 'better-auth': session, 'cookie-cache': session, tenantry: check },
  },
  {
    name: 'session, moving its expiry',
    connections: [MANY, 1],
    as: 'anybody',
    ask: { select: check, function: check, 'better-auth': session, moving: check },
  },
  {
    name: 'full answer',
    connections: [MANY, 1],
    as: 'anybody',
    ask: { 'better-auth': fullAnswer, 'cookie-cache': fullAnswer },
  },
  {
    name: 'list of 50 members',
    connections: [MANY, 1],
    as: 'managers',
    ask: { select: ownMembers, 'better-auth': members, 'cookie-cache': members, tenantry: ownMembers },
  },
  {
    name: 'list of tenants',
    connections: [MANY, 1],
    as: 'anybody',
    ask: { 'better-auth': tenants, 'cookie-cache': tenants, tenantry: get('/v1/auth/tenants') },
  },
  {
    name: 'select a tenant',
    connections: [MANY, 1],
    as: 'movers',
    ask: {
      'better-auth': (own, at) => [post(`${organization}/set-active`, own, { organizationId: tenantOf(own, at) })],
      tenantry: (own, at) => [post(`/v1/auth/tenants/${tenantOf(own, at)}/select`, own, null)],
    },
  },
  {
    name: 'invite',
    connections: [MANY, 1],
    as: 'managers',
    ask: {
      'better-auth': (own) => [post(`${organization}/invite-member`, own, invited())],
      select: (own) => [post('/v1/members/invite', own, invited())],
      tenantry: (own) => [post('/v1/members/invite', own, invited())],
    },
  },
  {
    name: 'sign-in',
    connections: [MANY_SIGN_INS, 1],
    as: 'anybody',
    ask: {
      'better-auth': (_own, at, data) => [post(`${BASE}/sign-in/email`, null, signIn(data, at))],
      tenantry: (_own, at, data) => [post('/v1/auth/login', null, signIn(data, at))],
    },
  },
  {
    name: 'guard.authorize',
    connections: [MANY, 1],
    as: 'anybody',
    ask: { 'better-auth': get('/authorize'), 'cookie-cache': get('/authorize'), guard: get('/orders') },
  },
]

/** Two servers in the same round, and what their ratio or difference must be. Without `least` and `most` it is only reported. */
export interface PeerTarget {
  readonly text: string
  readonly value: 'perSecond' | 'p50' | 'serverMicros' | 'postgresMicros'
  readonly connections: number
  /** The case and server that is measured, and the ones that it is divided by. */
  readonly of: readonly [name: string, contender: ContenderName]
  readonly by: readonly [name: string, contender: ContenderName]
  /** `by` is subtracted. */
  readonly difference?: boolean
  readonly least?: number
  readonly most?: number
}

const atLeast = (least: number, name: string, own = name): PeerTarget => ({
  text: `${name}: at least ${least} times better-auth`,
  value: 'perSecond',
  connections: MANY,
  of: [own, 'tenantry'],
  by: [name, 'better-auth'],
  least,
})

export const TARGETS: readonly PeerTarget[] = [
  atLeast(8, 'session'),
  atLeast(25, 'full answer', 'session'),
  atLeast(6, 'list of 50 members'),
  atLeast(7, 'list of tenants'),
  atLeast(3, 'select a tenant'),
  atLeast(2.5, 'invite'),
  {
    text: 'session: at least 0.75 of the one SELECT',
    value: 'perSecond',
    connections: MANY,
    of: ['session', 'tenantry'],
    by: ['session', 'select'],
    least: 0.75,
  },
  {
    text: 'session: median time at most 1.4 times that of the one SELECT, one connection',
    value: 'p50',
    connections: 1,
    of: ['session', 'tenantry'],
    by: ['session', 'select'],
    most: 1.4,
  },
  {
    text: 'session: at most 1.3 times the processor time of the one SELECT in Postgres',
    value: 'postgresMicros',
    connections: MANY,
    of: ['session', 'tenantry'],
    by: ['session', 'select'],
    most: 1.3,
  },
  {
    text: 'session, moving its expiry: at most 2 times the processor time of the one SELECT in Postgres',
    value: 'postgresMicros',
    connections: MANY,
    of: ['session, moving its expiry', 'moving'],
    by: ['session, moving its expiry', 'select'],
    most: 2,
  },
  {
    text: 'session: at most 60 µs of processor time more than the server of the one SELECT',
    value: 'serverMicros',
    connections: MANY,
    of: ['session', 'tenantry'],
    by: ['session', 'select'],
    difference: true,
    most: 60,
  },
]
