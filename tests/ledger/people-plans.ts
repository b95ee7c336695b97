import { SEED_PASSWORD as PASSWORD } from '#infra/local/seed.ts'
import {
  keep,
  keepEnded,
  pick,
  type Plan,
  type Planners,
  type Pool,
  sentBy,
  type Session,
  type StaffSessions,
  take,
  within,
} from './plan.ts'
import type { Person, Shop } from './shops.ts'

/** Reads the token of an invitation from the mailbox. Null: it has not been mailed yet. */
export type ReadToken = (email: string) => Promise<string | null>

/** A member whom the traffic invited. */
interface Newcomer {
  readonly person: Person
  /** Null until a list of members named it. */
  membershipId: string | null
}

const MAIL_MS = 1500

export const signIn = (person: Person, signedIn: (session: Session) => void): Plan => ({
  kind: 'sign-in',
  tenant: person.tenant,
  route: 'POST /v1/auth/login',
  body: { email: person.email, password: person.password },
  settle: ({ isDone, body }) => {
    if (isDone) signedIn({ id: body.session.id, token: body.token, person })
  },
})

export const select = (session: Session, shops: readonly Shop[], selected: () => void): Plan => ({
  kind: 'select',
  route: `POST /v1/auth/tenants/${shops.find(({ tenant }) => tenant === session.person.tenant)?.id}/select`,
  ...within(session),
  target: session.id,
  settle: ({ isDone }) => {
    if (isDone) selected()
  },
})

/** Plans what people do with their sessions, and how they become and cease to be members. */
export function planPeople(
  shops: readonly Shop[],
  staff: StaffSessions,
  pool: Pool,
  readToken: ReadToken,
): Planners<'sign-in' | 'select' | 'sign-out' | 'check' | 'invite' | 'accept' | 'remove' | 'list'> {
  const { pending, spare, proven, ended } = pool
  const invited: { readonly person: Person; readonly since: number }[] = []
  const unlisted: Newcomer[] = []
  const listed: Newcomer[] = []
  const removable: { readonly membershipId: string; readonly session: Session }[] = []

  /** Gives a session to the staff, and returns the one that it replaces. A sign-in counts as a step-up for an hour only. */
  const renew = (session: Session): Session => {
    const own = staff.get(session.person.tenant)
    own?.push(session)
    return own?.shift() ?? session
  }

  return {
    'sign-in': (_marker, { staff: people }) => {
      const newcomer = Math.random() < 0.4 ? take(listed) : undefined
      const person = newcomer?.person ?? pick(people)
      const membershipId = newcomer?.membershipId
      return (
        person &&
        signIn(person, (session) =>
          keep(pending, {
            session,
            selected: () => {
              if (membershipId) keep(removable, { membershipId, session })
              else keep(spare, newcomer === undefined ? renew(session) : session)
            },
          }),
        )
      )
    },
    select: () => {
      const next = take(pending)
      return next && select(next.session, shops, next.selected)
    },
    'sign-out': () => {
      const session = take(spare)
      if (session === undefined) return undefined
      const { id } = session
      const settle: Plan['settle'] = ({ isDone }) => isDone && keepEnded(pool, session)
      return { kind: 'sign-out', route: 'DELETE /v1/auth/session', ...within(session), target: id, ends: [id], settle }
    },
    check: (_marker, { tenant }) => {
      const live = [...spare.slice(-10), ...proven.slice(-10), ...removable.map(({ session }) => session)]
      const alive = [...(staff.get(tenant) ?? []), ...live]
      const session = pick(Math.random() < 0.2 && ended.length > 0 ? ended : alive)
      return session && { kind: 'check', route: 'GET /v1/auth/session', ...within(session) }
    },
    invite: (marker, { tenant }) => {
      const email = `${marker}@ledger.test`
      const person = { email, tenant, password: PASSWORD }
      return {
        kind: 'invite',
        route: 'POST /v1/members/invite',
        ...sentBy(staff, tenant),
        target: email,
        body: { email, role: 'viewer' },
        settle: ({ isDone }) => isDone && keep(invited, { person, since: Date.now() }),
      }
    },
    accept: async () => {
      const at = invited.findIndex(({ since }) => Date.now() - since > MAIL_MS)
      const [found] = at < 0 ? [] : invited.splice(at, 1)
      if (found === undefined) return undefined
      const { person } = found
      const token = await readToken(person.email)
      if (token === null) {
        keep(invited, { person, since: Date.now() })
        return undefined
      }
      return {
        kind: 'accept',
        tenant: person.tenant,
        route: 'POST /v1/auth/invitations/accept',
        target: person.email,
        body: { token, full_name: 'Newly Invited', password: PASSWORD },
        settle: ({ isDone }) => isDone && keep(unlisted, { person, membershipId: null }),
      }
    },
    remove: () => {
      const member = take(removable)
      if (member === undefined) return undefined
      const { membershipId, session } = member
      return {
        kind: 'remove',
        route: `DELETE /v1/members/${membershipId}`,
        ...sentBy(staff, session.person.tenant),
        target: membershipId,
        ends: [session.id],
        settle: ({ isDone }) => isDone && keepEnded(pool, session),
      }
    },
    list: (_marker, { tenant }) => {
      const newcomer = take(unlisted)
      if (newcomer === undefined) {
        const path = pick(['deals', 'members', 'members/invitations', 'audit-log?limit=20', 'vendor-accounts'])
        return { kind: 'list', route: `GET /v1/${path}`, ...sentBy(staff, tenant) }
      }
      const { email, tenant: own } = newcomer.person
      return {
        kind: 'list',
        route: `GET /v1/members?q=${encodeURIComponent(email)}`,
        ...sentBy(staff, own),
        settle: ({ isDone, body }) => isDone && keep(listed, { ...newcomer, membershipId: body.data[0]?.id ?? null }),
      }
    },
  }
}
