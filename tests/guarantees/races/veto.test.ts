import { setTimeout as delay } from 'node:timers/promises'
import type postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { operate, type TenantCommand } from '#functions/workers/operate/operate.ts'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { oneOf, variants } from '#tests/support/rounds.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { MAIL_KEY, PASSWORD, PEPPER } from '#tests/support/service.ts'
import { createServiceLogin, type ServiceLogin } from '#tests/support/service-login.ts'
import { useService } from '#tests/support/test.ts'
import {
  connectWithoutTimeouts,
  HOLDERS,
  HOLDERS_OF_ALL,
  lateDesigns,
  leave,
  newPerson,
  type Person,
  proofOf,
} from './held.ts'

const WITHIN_MS = 2000

const service = useService()
let operatorDatabase: Database
let shop: ServiceLogin
const connections: postgres.Sql[] = []

beforeAll(async () => {
  operatorDatabase = connectTo(service.database.operatorUrl)
  shop = await createServiceLogin(service.sql, service.database.appUrl)
})
afterEach(async () => {
  await Promise.all(connections.splice(0).map((sql) => sql.end({ timeout: 0 })))
})
afterAll(async () => {
  await operatorDatabase.close()
  await service.sql`drop schema if exists planted cascade`
  await service.sql.unsafe(`drop role ${shop.role}`)
})

const request = async (route: string, token: string, body?: object): Promise<boolean> =>
  (await service.request(route, { token, body })).status < 300

async function command(order: TenantCommand): Promise<boolean> {
  const runtime = { ...service.runtime, database: operatorDatabase, pepper: PEPPER, mailKey: MAIL_KEY }
  return 'done' in (await operate(runtime, order, INSTRUCTION))
}

/** Each ends the access of a person, and returns whether that was confirmed. */
const REVOCATIONS = {
  'signing out': ({ member }) => request('DELETE /v1/auth/session', member.token),
  'ending another session': ({ member, other }) => request(`DELETE /v1/auth/sessions/${member.id}`, other.token),
  'ending all other sessions': ({ other }) => request('DELETE /v1/auth/sessions', other.token),
  'changing the password': ({ other }) =>
    request('POST /v1/auth/password/change', other.token, {
      current_password: PASSWORD,
      new_password: 'a long sentence that nobody knows yet',
    }),
  'removing a member': ({ owner, member }) => request(`DELETE /v1/members/${member.membershipId}`, owner.token),
  'changing a role': ({ owner, member }) =>
    request(`PATCH /v1/members/${member.membershipId}`, owner.token, { role: 'viewer' }),
  'disabling a user': ({ email }) => command({ command: 'disable-user', email }),
  'suspending a tenant': ({ slug }) => command({ command: 'set-status', slug, status: 'suspended' }),
} satisfies Readonly<Record<string, (person: Person) => Promise<boolean>>>

/** Opens a connection that has no timeouts, until the end of the test. */
function connection(url: string): postgres.Sql {
  const sql = connectWithoutTimeouts(url)
  connections.push(sql)
  return sql
}

const eachWay = Object.entries(REVOCATIONS)
// Each holder begins with another revocation: `npm test` takes the first alone.
const underHolders = Object.entries({ ...HOLDERS, ...HOLDERS_OF_ALL }).map(
  ([holder, hold], n) => [holder, hold, variants([...eachWay.slice(n), ...eachWay.slice(0, n)])] as const,
)
/** Runs a revocation and returns how long it took, in milliseconds: Infinity when it was not confirmed. */
async function timed(revoke: () => Promise<boolean>): Promise<number> {
  const begun = performance.now()
  return (await revoke()) ? performance.now() - begun : Infinity
}

/** On a busy machine the work alone may take longer than 2 s, so a timed attempt has three tries. */
async function expectWithin2s(what: string, attempt: () => Promise<number>): Promise<void> {
  let tookMs = await attempt()
  for (let tries = 1; tries < 3 && tookMs >= WITHIN_MS; tries += 1) tookMs = await attempt()
  expect.soft(tookMs, what).toBeLessThan(WITHIN_MS)
}

it.each(oneOf(2, underHolders))('answers a revocation within 2 s under %s', async (_holder, hold, ways) => {
  for (const [how, revoke] of ways) {
    await expectWithin2s(how, async () => {
      const person = await newPerson(service)
      await hold({ service, shop, person, open: connection })
      const tookMs = await timed(() => revoke(person))
      const before = await lateDesigns(service, person)
      await Promise.all(
        connections.splice(0).map((sql) => sql`commit`.catch(() => {}).then(() => sql.end({ timeout: 0 }))),
      )
      expect.soft(await lateDesigns(service, person), `${how}: no write commits after the answer`).toBe(before)
      return tookMs
    })
  }
})

it.each([
  ['of 1.9 s', 1, 1.9],
  ['of 2 s that three writers repeat in turn', 3, 2],
])('removes a member within 2 s during writes %s', async (what, writers, seconds) => {
  await expectWithin2s(what, async () => {
    const person = await newPerson(service)
    const proof = await proofOf(service, person)
    const done = new AbortController()
    const entered = Promise.withResolvers<void>()
    const loops = Array.from({ length: writers }, async (_, index) => {
      await delay(index * 600)
      while (!done.signal.aborted) {
        await connection(shop.url)
          .begin(async (tx) => {
            await tx`select app.enter(${proof}, 'deal.write')`
            if (index === writers - 1) entered.resolve()
            await tx`select pg_sleep(${seconds})`
          })
          .catch(() => {})
      }
    })
    await entered.promise
    const tookMs = await timed(() => REVOCATIONS['removing a member'](person))
    done.abort()
    await Promise.all(loops)
    return tookMs
  })
})

it('runs a revocation again that was ended while it waited', async () => {
  const { sql } = service
  const person = await newPerson(service)
  const holder = connection(service.database.urls.services)
  await holder`select pg_advisory_lock(hashtextextended(${person.member.userId}, 0))`
  const signedOut = request('DELETE /v1/auth/session', person.member.token)
  const ended = await vi.waitUntil(
    async () => {
      const rows = await sql`
        select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where l.locktype = 'advisory' and not l.granted and a.datname = current_database()`
      return rows.length > 0 && rows
    },
    { interval: 5 },
  )
  expect(ended).toHaveLength(1)
  await holder`select pg_advisory_unlock_all()`
  expect(await signedOut).toBe(true)
  expect(await request('GET /v1/auth/session', person.member.token)).toBe(false)
})

describe('app.end_blockers', () => {
  const SECOND = 1000
  const endBlockers = (url: string) =>
    connection(url)<{ pid: number; login: string }[]>`select pid, login from app.end_blockers()`
  const isOpen = (sql: postgres.Sql | postgres.ReservedSql) => sql`select`.then(() => true).catch(() => false)

  const auth = () => service.database.urls.auth
  const app = () => service.database.appUrl
  const operator = () => service.database.operatorUrl
  const services = () => service.database.urls.services

  /** Lets a statement wait for a lock for a second. Returns what the login ended then. */
  async function endedDuring(waits: postgres.PendingQuery<postgres.Row[]>, url: string) {
    leave(waits)
    await delay(SECOND)
    return [...(await endBlockers(url))]
  }

  it('ends no connection that blocks a write which is no revocation', async () => {
    const person = await newPerson(service)
    const holder = connection(service.database.appUrl)
    await holder`select pg_advisory_lock(hashtextextended(${person.member.userId}, 0))`
    const ticket = await ticketOf(service.sql, person.member.id)
    const waiting = connection(app())
    expect(await endedDuring(waiting`select app.enter_to_write(${ticket}, 'deal.write', false)`, app())).toEqual([])
    expect(await isOpen(holder)).toBe(true)
  })

  it('ends no connection of the owner', async () => {
    const person = await newPerson(service)
    const owner = await service.sql.reserve()
    await owner`begin`
    await owner`select pg_advisory_xact_lock(hashtextextended(${person.member.userId}, 0))`
    const ticket = await ticketOf(service.sql, person.member.id)
    const waiting = connection(auth())
    expect(await endedDuring(waiting`select app.enter_session(${ticket})`, auth())).toEqual([])
    expect(await isOpen(owner)).toBe(true)
    await owner`rollback`
    owner.release()
  })

  it('ends what blocks a revocation that waits, and neither the revocation nor anybody else', async () => {
    const person = await newPerson(service)
    const [holder, bystander, waiting] = [connection(services()), connection(services()), connection(auth())]
    await bystander`select pg_advisory_lock(1)`
    await holder`select pg_advisory_lock(hashtextextended(${person.member.userId}, 0))`
    const ticket = await ticketOf(service.sql, person.member.id)
    const revocation = waiting`select app.enter_session(${ticket})`
    expect(await endedDuring(revocation, auth())).toEqual([{ pid: expect.any(Number), login: 'identity_services' }])
    await revocation
    expect(await isOpen(bystander)).toBe(true)
  })

  it('ends no revocation that takes its turn in a long queue', async () => {
    const person = await newPerson(service)
    const ticket = await ticketOf(service.sql, person.member.id)
    const queue = Array.from({ length: 30 }, () => {
      const waiting = connection(auth())
      return waiting`select pg_sleep(0.05) from app.enter_session(${ticket})`
    })
    const done = Promise.allSettled(queue)
    const observer = connection(auth())
    const ended: postgres.Row[] = []
    for (let looks = 0; looks < 10; looks += 1) {
      ended.push(...(await observer`select pid from app.end_blockers()`))
      await delay(SECOND / 10)
    }
    expect((await done).filter(({ status }) => status === 'rejected')).toEqual([])
    expect(ended).toEqual([])
  })

  it('ends nothing for a revocation of another login', async () => {
    const person = await newPerson(service)
    const [holder, waiting] = [connection(services()), connection(auth())]
    await holder`select pg_advisory_lock(hashtextextended(${person.member.userId}, 0))`
    const ticket = await ticketOf(service.sql, person.member.id)
    expect(await endedDuring(waiting`select app.enter_session(${ticket})`, app())).toEqual([])
    expect(await isOpen(holder)).toBe(true)
  })

  // An operator's login may mark any transaction of its own.
  it.each([
    ['an advisory lock of two keys', 'select pg_advisory_xact_lock(1, 2)', 'select pg_advisory_xact_lock(1, 2)'],
    ['a table of another service', 'lock table planted.orders', 'table planted.orders'],
    ['a row of another service', 'select from planted.orders for update', 'select from planted.orders for update'],
    ['a new key of another service', 'insert into planted.orders values (2)', 'insert into planted.orders values (2)'],
  ])('ends nobody because a marked transaction waits for %s', async (_lock, taken, wanted) => {
    await service.sql.unsafe(`
      create schema if not exists planted;
      create table if not exists planted.orders (id integer primary key);
      insert into planted.orders values (1) on conflict do nothing;
      grant usage on schema planted to ${shop.role}, identity_operator;
      grant all on planted.orders to ${shop.role}, identity_operator`)
    const [holder, waiting] = [connection(shop.url), connection(operator())]
    await holder`begin`
    await holder.unsafe(taken)
    await waiting`begin`
    await waiting`select app.mark_revocation()`
    expect(await endedDuring(waiting.unsafe(wanted), operator())).toEqual([])
    expect(await isOpen(holder)).toBe(true)
  })
})

it('serves a session while another transaction has a lock on its row', async () => {
  const person = await newPerson(service)
  await service.sql`update app.sessions set last_seen_at = now() - interval '1 hour' where id = ${person.member.id}`
  const sql = connection(service.database.operatorUrl)
  await sql`begin`
  await sql`update app.sessions set revoked_at = now() where id = ${person.member.id}`
  expect(await request('GET /v1/auth/session', person.member.token)).toBe(true)
  await sql`commit`
  expect(await request('GET /v1/auth/session', person.member.token)).toBe(false)
})
