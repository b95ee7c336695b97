/** What of a write must be there together, or not at all. */
export type Part = 'row' | 'audit' | 'event' | 'job'

interface KindOfRequest {
  /** Empty for a read. */
  readonly parts: readonly Part[]
  /** The action of its audit entry. */
  readonly action?: string
  /** The statuses that are no fault of the service beside 2xx and unavailability: another request was first. */
  readonly refusals?: readonly number[]
  /** Whether its response has a token. */
  readonly givesToken?: true
}

/** Every kind of request of the traffic. People with a second factor send `password`, and then `finish` or `recover`. */
export const KINDS = {
  'sign-in': { parts: ['row'], givesToken: true },
  select: { parts: ['row', 'audit'], action: 'session.tenant_selected' },
  'sign-out': { parts: ['row', 'audit'], action: 'session.signed_out' },
  password: { parts: [], givesToken: true },
  finish: { parts: ['row'], givesToken: true },
  recover: { parts: ['row', 'audit'], action: 'user.recovery_code_used', givesToken: true },
  'step-up': { parts: ['audit'], action: 'session.stepped_up', givesToken: true },
  check: { parts: [] },
  list: { parts: [] },
  'read-tenant': { parts: [] },
  tenant: { parts: ['audit', 'event'], action: 'tenant.changed', refusals: [412] },
  invite: { parts: ['row', 'audit', 'event', 'job'], action: 'invitation.created' },
  accept: { parts: ['row', 'audit', 'event', 'job'], action: 'membership.accepted' },
  role: { parts: ['audit', 'event'], action: 'membership.role_changed' },
  remove: { parts: ['row', 'audit', 'event', 'job'], action: 'membership.revoked' },
  deal: { parts: ['row', 'audit', 'event'], action: 'deal.created' },
  quote: { parts: ['row', 'audit', 'event'], action: 'deal.changed' },
  lines: { parts: ['row', 'audit', 'event'], action: 'deal.lines_replaced', refusals: [409] },
  vendor: { parts: ['row', 'audit', 'event'], action: 'vendor_account.created' },
  sync: { parts: ['row', 'audit', 'event', 'job'], action: 'sync_run.created', refusals: [409] },
} as const satisfies Record<string, KindOfRequest>

export type Kind = keyof typeof KINDS

export const kindOf = (kind: Kind): KindOfRequest => KINDS[kind]

/** How often each kind is sent, in a mix of requests. */
export type Mix = Readonly<Partial<Record<Kind, number>>>

const ALL = {
  check: 30,
  list: 14,
  'sign-in': 8,
  select: 8,
  'sign-out': 4,
  password: 5,
  finish: 4,
  recover: 1.5,
  'step-up': 3,
  invite: 8,
  accept: 6,
  role: 6,
  remove: 2,
  deal: 10,
  quote: 4,
  lines: 4,
  tenant: 2,
  'read-tenant': 2,
  vendor: 1.5,
  sync: 0.5,
} as const satisfies Record<Kind, number>

/** The mixes of the scenarios: all kinds, with some more often. */
export const MIXES = {
  all: ALL,
  'sign-ins': { ...ALL, 'sign-in': 24, select: 20, 'sign-out': 14 },
  'second-factors': { ...ALL, password: 18, finish: 14, recover: 6, 'step-up': 12, select: 16 },
  members: { ...ALL, invite: 20, accept: 16, role: 14, remove: 8 },
  deals: { ...ALL, deal: 30, quote: 14, lines: 14 },
  vendors: { ...ALL, vendor: 8, sync: 2 },
} as const satisfies Record<string, Mix>
