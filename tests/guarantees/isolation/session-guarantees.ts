import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  as,
  attempt,
  enterTenant,
  type Guarantee,
  sealedTicket,
  tenantsOf,
  heldBy,
  type FunctionGuarantees,
} from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** A function that reads across tenants, called with tickets of live sessions and of other ids. */
export const readerGuarantee = ({ own, other, sessions }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} returns what belongs to the user of a ticket with a live session, and nothing for any other`,
  holds: async (sql) => {
    const read = `select tenant_id from ${name}(decode($1, 'hex'))`
    const call = async (session: string) =>
      sql.unsafe<{ tenant_id: string | null }[]>(read, [await sealedTicket(sql, { session })])
    assert.equal((await attempt(sql, read, [sessions.own.replaceAll('-', '')])).code, 'TN500', 'no ticket')
    for (const tenant of [null, own, other]) {
      await enterTenant(sql, tenant)
      for (const [why, id] of sessions.dead) assert.equal((await call(id)).length, 0, `the id is ${why}`)
      const both = new Set((await call(sessions.pending)).map((row) => row.tenant_id))
      assert.ok(both.has(own) && both.has(other))
      const single = new Set((await call(sessions.single)).map((row) => row.tenant_id))
      assert.deepEqual([...single], [own])
    }
  },
})

/** app.end_sessions, called with tickets of the user and of others, for their sessions and other ids. */
export const endSessionsGuarantee = ({ own, other, sessions, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends live sessions of the user alone, and audits each in its own tenant`,
  holds: async (sql) => {
    const [user = null] = users.filter(({ tenants }) => tenants.length === 2).map(({ id }) => id)
    const live = { [sessions.own]: own, [sessions.other]: other, [sessions.pending]: null }
    const every = [...Object.keys(live), sessions.single, ...sessions.dead.map(([, id]) => id)]
    const unrevoked = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ id: string }[]>`
          select id from app.sessions where id = any (${every}) and revoked_at is null order by id`
        return rows.map(({ id }) => id)
      })
    // Expired sessions are revoked with the others, and neither counted nor audited.
    const expired = sessions.dead.flatMap(([why, id]) => (/idle|ended/.test(why) ? [id] : []))
    const calls: [who: string | null, session: string | null, ended: string[]][] = [
      [user, sessions.own, [sessions.own]],
      [user, sessions.other, [sessions.other]],
      [user, sessions.pending, [sessions.pending]],
      [user, null, [sessions.other, sessions.pending]],
      [user, sessions.single, []],
      [null, sessions.own, []],
      [null, null, []],
      [randomUUID(), sessions.own, []],
      ...sessions.dead.map(([, id]): (typeof calls)[number] => [user, id, []]),
    ]
    const before = await unrevoked()
    for (const tenant of [null, own, other]) {
      for (const [who, session, ended] of calls) {
        const request = randomUUID()
        const what = `${who} ${session}`
        await sql`savepoint call`
        await enterTenant(sql, tenant)
        const ticket = await sealedTicket(sql, { user: who, session: sessions.own })
        const call = `app.end_sessions(decode($1, 'hex'), $2, 'session.revoked', row($3, null, null)::app.source)`
        const returned = await attempt(
          sql,
          `select from (select ${call}) as c(n) where n = ${ended.length}`,
          [ticket, session, request],
          true,
        )
        assert.deepEqual(returned, { count: 1, code: '' }, what)
        const gone = new Set([...ended, ...(session === null && who !== null ? expired : [])])
        assert.deepEqual(
          await unrevoked(),
          before.filter((id) => !gone.has(id)),
          what,
        )
        const tenants = ended.flatMap((id) => live[id] ?? [])
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', 'request_id = $1', [request]), tenants.toSorted(), what)
        const wrong = `request_id = $1 and (target_id <> all ($2::text::uuid[]) or actor_user_id is distinct from $3)`
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', wrong, [request, `{${ended.join()}}`, who]), [], what)
        await sql`rollback to savepoint call`
      }
    }
  },
})

/** app.end_unused_sessions, called for users and for other ids. */
export const endUnusedGuarantee = ({ own, other, sessions, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends the longest unused live sessions of the user alone, and audits each in its own tenant`,
  holds: async (sql) => {
    const [user = null] = users.filter(({ tenants }) => tenants.length === 2).map(({ id }) => id)
    const order = [sessions.pending, sessions.other, sessions.own]
    const tenantOf: Record<string, string | null> = { [sessions.other]: other, [sessions.own]: own }
    const every = [...order, sessions.single, ...sessions.dead.map(([, id]) => id)]
    await as(sql, 'none', async () => {
      for (const [age, id] of order.entries())
        await sql`update app.sessions set last_seen_at = now() - make_interval(mins => ${age}) where id = ${id}`
      await sql`update app.sessions set last_seen_at = now() - interval '1 day' where id <> all (${order})`
    })
    const unrevoked = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ id: string }[]>`
          select id from app.sessions where id = any (${every}) and revoked_at is null order by id`
        return rows.map(({ id }) => id)
      })
    const before = await unrevoked()
    for (const tenant of [null, own, other]) {
      for (const [who, kept] of [
        [user, 0],
        [user, 1],
        [user, 2],
        [user, 3],
        [null, 0],
        [randomUUID(), 0],
      ] as const) {
        const request = randomUUID()
        await sql`savepoint call`
        await enterTenant(sql, tenant)
        const ended = who === user ? order.slice(kept) : []
        await sql`select app.end_unused_sessions(${who}, ${kept}, row(${request}, null, null)::app.source)`
        assert.deepEqual(
          await unrevoked(),
          before.filter((id) => !ended.includes(id)),
        )
        const audited = ended.flatMap((id) => tenantOf[id] ?? [])
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', 'request_id = $1', [request]), audited.toSorted())
        await sql`rollback to savepoint call`
      }
    }
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  tenants_of_session: readerGuarantee,
  sessions_of_session: readerGuarantee,
  end_sessions: endSessionsGuarantee,
  end_unused_sessions: (world, name) => heldBy('identity_gate', endUnusedGuarantee(world, name)),
}
