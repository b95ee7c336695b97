import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { ticketFor, ticketOf } from '#tests/support/proof.ts'

let database: TestDatabase
/** A write in progress, and a second connection. */
let writer: postgres.Sql
let other: postgres.Sql
let operator: postgres.Sql
/** Two connections of identity_auth. */
let auth: [postgres.Sql, postgres.Sql]
const EMAIL = 'writer@acme.test'
let userId = ''

beforeAll(async () => {
  database = await createTestDatabase()
  userId = await createUser(database.admin, { email: EMAIL, slugs: ['acme-print'] })
  const options = { max: 1, onnotice: () => {}, connection: { lock_timeout: 50 } }
  writer = postgres(database.appUrl, options)
  other = postgres(database.appUrl, options)
  operator = postgres(database.operatorUrl, options)
  auth = [postgres(database.urls.auth, options), postgres(database.urls.auth, options)]
})
afterAll(async () => {
  await Promise.all([writer, other, operator, ...auth].map((sql) => sql.end()))
  await database.drop()
})

const BLOCKED = '55P03'
const enter = (sql: postgres.ISql, { ticket }: { ticket: Buffer }) => sql`select app.enter_session(${ticket})`
const newSession = async (slug: string | null) => {
  const { id } = await mintSession(database.admin, { email: EMAIL, slug })
  return { id, ticket: await ticketOf(database.admin, id) }
}

describe('app.enter_session', () => {
  it.each([
    ['that is revoked', 'revoked_at = now()'],
    ['that was idle for too long', 'idle_expires_at = now()'],
    ['that reached its absolute expiry', 'absolute_expires_at = now()'],
  ])('raises TN401 for a session %s', async (_why, change) => {
    const session = await newSession('acme-print')
    await database.admin.unsafe(`update app.sessions set ${change} where id = $1`, [session.id])
    await expect(enter(writer, session)).rejects.toMatchObject({ code: 'TN401' })
  })

  it.each([['acme-print'], [null]])('sets no tenant for a live session of the tenant %s', async (slug) => {
    const session = await newSession(slug)
    await writer.begin(async (tx) => {
      await enter(tx, session)
      expect([...(await tx`select app.current_tenant() as tenant`)]).toEqual([{ tenant: null }])
    })
  })

  it('blocks the revocation of the session, and not its idle expiry, until the commit', async () => {
    const session = await newSession('acme-print')
    const revoke = () => operator`update app.sessions set revoked_at = now() where id = ${session.id}`
    await writer.begin(async (tx) => {
      await enter(tx, session)
      await ticketOf(database.admin, session.id)
      await expect(revoke()).rejects.toMatchObject({ code: BLOCKED })
    })
    expect((await revoke()).count).toBe(1)
  })

  it('takes turns with every other write of the user, and with what is taken from them in the tenant', async () => {
    const session = await newSession('acme-print')
    const another = await newSession(null)
    const [tenant] = await database.admin<{ id: string }[]>`select id from app.tenants where slug = 'acme-print'`
    const ticket = await ticketFor(database.admin, tenant?.id ?? '')
    const lockMember = () =>
      other.begin(async (tx) => {
        await tx`select app.enter_to_write(${ticket}, null, false)`
        await tx`select app.lock_member(${userId})`
      })
    const write = () => other`select app.enter_to_write(${session.ticket}, 'member.manage', false)`
    await writer.begin(async (tx) => {
      await enter(tx, session)
      for (const blocked of [
        () => enter(other, another),
        write,
        () => operator`select app.lock_user(${userId})`,
        lockMember,
      ])
        await expect(blocked()).rejects.toMatchObject({ code: BLOCKED })
    })
    await Promise.all([enter(other, another), write(), lockMember()])
  })

  it('lets one of two sessions win that end each other, without a deadlock', async () => {
    const [one, two] = [await newSession(null), await newSession(null)]
    const endOthers = (sql: postgres.Sql, session: { ticket: Buffer }) =>
      sql.begin(async (tx) => {
        await tx`set local lock_timeout = '10s'`
        await enter(tx, session)
        await tx`select pg_sleep(0.05)`
        await tx`select app.end_sessions(${session.ticket}, null, 'session.revoked', row('r', null, null)::app.source)`
      })
    const ended = await Promise.allSettled([endOthers(auth[0], one), endOthers(auth[1], two)])
    const failed = ended.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(failed).toEqual([expect.objectContaining({ code: 'TN401' })])
  })
})
