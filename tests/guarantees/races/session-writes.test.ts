import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operate, type TenantCommand } from '#functions/workers/operate/operate.ts'
import type { Database } from '#shared/db/connect.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import { isTenantAccess, requiresSession } from '#shared/http/access.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent, type Reply } from '#shared/http/reply.ts'
import { connectTo } from '#tests/support/access.ts'
import { type MintedSession, mintSession, type TestMember } from '#tests/support/minted-session.ts'
import { type Ids, type Route, routes, takesId, withId } from '#tests/support/routes.ts'
import { Authenticator } from '#tests/support/authenticator.ts'
import { ORIGIN } from '#tests/support/passkey.ts'
import { codeNow } from '#tests/support/factor.ts'
import { rounds } from '#tests/support/rounds.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { MAIL_KEY, PASSWORD, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'

const WRITERS = 4
const MAX_WRITES = 12

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000' } })
const admin = () => service.database.admin

let operatorDatabase: Database
let tables: string[]
beforeAll(async () => {
  operatorDatabase = connectTo(service.database.operatorUrl)
  // Attempts are counted before a write, and also where there is none.
  const found = await admin()<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
     where relnamespace = 'app'::regnamespace and relkind = 'r' and relname <> 'rate_limits'`
  tables = found.map(({ name }) => name)
})
afterAll(() => operatorDatabase.close())

/** A member of a tenant of their own, with sessions that write there, and one without a tenant. */
interface Writer {
  readonly slug: string
  readonly tenantId: string
  readonly email: string
  readonly member: TestMember
  readonly owner: TestMember
  readonly sessions: readonly MintedSession[]
  readonly other: MintedSession
  /** Of the writer's app, for a route that changes one. */
  readonly factorId: string | undefined
}

const CODES = 'POST /v1/auth/factors/recovery-codes'
const APP = 'POST /v1/auth/factors/totp'
const PASSKEY = 'POST /v1/auth/factors/passkey'
const NEED_FACTOR: ReadonlySet<string> = new Set([
  CODES,
  APP,
  PASSKEY,
  'POST /v1/auth/step-up/passkey-options',
  'PATCH /v1/auth/factors/{id}',
  'DELETE /v1/auth/factors/{id}',
])

/** Adds an app and a passkey to a user, whose sessions have proven it since they signed in. Returns the id of the app. */
async function giveFactor(email: string): Promise<string> {
  const [factor] = await admin()<{ id: string }[]>`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    select gen_random_uuid(), id, 'totp', 'Made', gen_random_uuid(), sha256('made'), 'made', 0 from app.users where email = ${email}
    returning id`
  await admin()`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, credential_id, public_key, algorithm, sign_count, rp_id,
                             backup_eligible, backed_up)
    select gen_random_uuid(), id, 'passkey', 'Made', gen_random_uuid(), sha256('made'), sha256(email::bytea), 'made', -7, 0, 'localhost',
           false, false
      from app.users where email = ${email}`
  await admin()`
    update app.sessions set second_factor_at = now(), stepped_up_at = now(), created_at = created_at - interval '1 minute'
     where user_id = (select id from app.users where email = ${email})`
  return factor?.id ?? ''
}

async function newWriter(route?: Route): Promise<Writer> {
  const { slug, id, owner, sales } = await service.newTenant('owner', 'sales')
  const email = `sales@${slug}.test`
  // A user has one draft: the newest.
  const writers = route?.name === APP || route?.name === CODES ? 1 : WRITERS
  await admin()`
    update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test')
     where email = ${email}`
  const sessions = await Promise.all(Array.from({ length: writers }, () => mintSession(admin(), { email, slug })))
  const other = await mintSession(admin(), { email })
  const factorId = route !== undefined && NEED_FACTOR.has(route.name) ? await giveFactor(email) : undefined
  return { slug, tenantId: id, email, member: sales, owner, sessions, other, factorId }
}

// The sessions that this test made during a race.
const minted: string[] = []

/** Makes what the id in the path names. A session to end is one of the writer's own. */
async function makeTarget(path: string, { email, slug, factorId }: Writer): Promise<Ids> {
  if (factorId !== undefined) return { id: factorId }
  if (!path.startsWith('/v1/auth/sessions/')) return makeResource(service, path, slug)
  const { id } = await mintSession(admin(), { email })
  minted.push(id)
  return { id }
}

const draftOf = async (token: string, body: object): Promise<string | undefined> =>
  (await service.request('POST /v1/auth/factors/draft', { token, body })).body?.secret

/** The bodies that prove something of the writer. Without a draft the sample is sent. */
const PROOFS: Readonly<
  Record<string, (token: string, turn: number) => object | undefined | Promise<object | undefined>>
> = {
  'POST /v1/auth/password/change': (_token, turn) => {
    const [current, next] = turn % 2 === 0 ? [PASSWORD, `${PASSWORD} again`] : [`${PASSWORD} again`, PASSWORD]
    return { current_password: current, new_password: next }
  },
  'POST /v1/auth/step-up': () => ({ password: PASSWORD }),
  [APP]: async (token) => {
    const secret = await draftOf(token, {})
    return secret === undefined ? undefined : { code: codeNow(secret) }
  },
  [PASSKEY]: async (token) => {
    const { body, status } = await service.request('POST /v1/auth/factors/passkey-options', { token })
    if (status !== 200) return undefined
    return { name: 'Laptop', credential: new Authenticator({ origin: ORIGIN }).create(body.options) }
  },
  [CODES]: async (token) => {
    await draftOf(token, { renew_codes: true })
    return undefined
  },
}

/** Sends a write to the route. Returns the status of the response. */
async function write(route: Route, writer: Writer, token: string, turn: number): Promise<number> {
  const { path, method } = route.endpoint
  const body = (await PROOFS[route.name]?.(token, turn)) ?? sampleBody(route)
  const target = takesId(path) ? withId(path, await makeTarget(path, writer)) : path
  return (await service.request(`${method} ${target}`, { token, body })).status
}

const command = async (order: TenantCommand): Promise<boolean> => {
  const runtime = { ...service.runtime, database: operatorDatabase, pepper: PEPPER, mailKey: MAIL_KEY }
  return 'done' in (await operate(runtime, order, INSTRUCTION))
}

/** Each revokes the sessions that write. Returns whether it was confirmed. */
const REVOCATIONS: Readonly<Record<string, (writer: Writer) => Promise<boolean>>> = {
  // Refused when one of the writes ended the other session first.
  'another session ends them': async ({ other }) =>
    (await service.request('DELETE /v1/auth/sessions', { token: other.token })).status === 204,
  'the membership is revoked': async ({ owner, member }) =>
    (await service.request(`DELETE /v1/members/${member.membershipId}`, { token: owner.token })).status === 200,
  'the tenant is suspended': ({ slug }) => command({ command: 'set-status', slug, status: 'suspended' }),
  'the user is disabled': ({ email }) => command({ command: 'disable-user', email }),
}

/**
 * Rounds in which the sessions of a user write until they are revoked, until one round is `expected`. `lateRows` were
 * committed after the confirmation.
 */
async function race(route: Route, revoke: (writer: Writer) => Promise<boolean>, expected: 'confirmed' | 'lateRows') {
  const outcome = { confirmed: 0, lateRows: 0, statuses: new Set<number>() }
  // Where a write ends the other session, few revocations by that session are confirmed.
  for (const round of rounds(8, () => outcome[expected] > 0, 160)) {
    const writer = await newWriter(route)
    const begun = Promise.withResolvers<void>()
    // The revocation is sent just before the first write, or after one, two or three of a session.
    const confirmation = round % 4 === 0 ? revoke(writer) : begun.promise.then(() => revoke(writer))
    const writers = Promise.all(
      writer.sessions.map(async ({ token }) => {
        for (let turn = 0; turn < MAX_WRITES; turn += 1) {
          const status = await write(route, writer, token, turn)
          outcome.statuses.add(status)
          if (turn + 1 === round % 4 || status === 401) begun.resolve()
          if (status === 401) return
        }
      }),
    )
    const confirmed = await confirmation
    const [row] = await admin()<{ now: string }[]>`select pg_current_snapshot()::text as now`
    await writers
    if (!confirmed) continue
    outcome.confirmed += 1
    outcome.lateRows += await rowsSince(row?.now ?? '')
  }
  return outcome
}

/** Counts the rows of transactions that had not committed at the time of the snapshot. */
async function rowsSince(snapshot: string): Promise<number> {
  const counts = tables.map(
    (table) =>
      `select count(*) from ${table} where not pg_visible_in_snapshot(xmin::text::xid8, $1::text::pg_snapshot)
       ${table === 'sessions' ? 'and (revoked_at is not null or id <> all ($2))' : ''}`,
  )
  const [row] = await admin().unsafe(`select sum(count)::int as rows from (${counts.join(' union all ')}) as t`, [
    snapshot,
    minted,
  ])
  return row?.['rows']
}

const sessionWrites = routes.filter(
  ({ endpoint: { access, method } }) => requiresSession(access) && !isTenantAccess(access) && method !== 'GET',
)

describe.each(sessionWrites)('$name', (route) => {
  it.each(Object.entries(REVOCATIONS))('commits nothing after the confirmation when %s', async (_how, revoke) => {
    const { confirmed, lateRows, statuses } = await race(route, revoke, 'confirmed')
    expect(confirmed).toBeGreaterThan(0)
    expect(lateRows).toBe(0)
    expect(Math.min(...statuses)).toBeLessThan(300)
    expect(Math.max(...statuses)).toBeLessThan(500)
  })
})

it('never deadlocks when sessions of one user sign out and end each other', async () => {
  const deadlocks = async (): Promise<number> => {
    await admin()`select pg_stat_force_next_flush()`
    const [row] = await admin()`select deadlocks::int from pg_stat_database where datname = current_database()`
    return row?.['deadlocks']
  }
  const before = await deadlocks()
  const statuses = new Set<number>()
  for (const round of rounds(24)) {
    const { sessions } = await newWriter()
    const ending = sessions.map(({ token }, index) =>
      service.request(`DELETE /v1/auth/${index % 2 === 0 || round % 2 === 0 ? 'session' : 'sessions'}`, { token }),
    )
    for (const { status } of await Promise.all(ending)) statuses.add(status)
  }
  expect([...statuses].filter((status) => ![204, 401].includes(status))).toEqual([])
  expect(await deadlocks()).toBe(before)
})

it('finds writes after the confirmation when the guard checks nothing', async () => {
  await admin()`create or replace function app.enter_session(p_ticket bytea, p_step_up_seconds integer default null) returns void
    language sql return null`
  const resend = sessionWrites.find(({ name }) => name === 'POST /v1/auth/verify/resend')
  const revoke = REVOCATIONS['the user is disabled']
  if (resend === undefined || revoke === undefined) throw new Error('there is no such case')
  expect((await race(resend, revoke, 'lateRows')).lateRows).toBeGreaterThan(0)
})

it('gives a write of a session the guarded transaction and no other statement', () => {
  const session = { access: 'session', summary: 'A test' } as const
  const write: (context: { sql: SessionTransaction }) => Promise<Reply<null>> = async () => noContent()
  endpoint({ ...session, route: 'POST /a', handle: write })
  // @ts-expect-error a GET only calls functions of the database
  endpoint({ ...session, route: 'GET /a', handle: write })
  const byHandle = { ...session, access: { session: true, transactions: 'by handle' } } as const
  // @ts-expect-error the handler has to open its transactions
  const own = endpoint({ ...byHandle, route: 'POST /a', handle: write })
  expect(isTenantAccess(own.access)).toBe(false)
})
