import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { enterTenant, as, attempt, type Guarantee, REFUSED, tenantsOf } from './guarantee.ts'
import { sealedSecretGuarantee } from './sealed-guarantees.ts'
import type { TwoShops } from './two-shops.ts'

/** A function that reads past row security, called with what is and what is not the id of a live session. */
const readerGuarantee = ({ own, other, sessions }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} answers the holder of a live session, of what is theirs, and nobody else`,
  holds: async (sql) => {
    const call = (session: string) =>
      sql.unsafe<{ tenant_id: string | null }[]>(`select tenant_id from ${name}($1)`, [session])
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

/** A function that writes past row security answers nothing, whatever it did. */
async function expectNothing(sql: postgres.Sql, call: string, parameters: (string | null)[]): Promise<void> {
  const outcome = await attempt(
    sql,
    `select from (select ${call}) as c(answer) where coalesce(answer::text, '') = ''`,
    parameters,
    true,
  )
  assert.deepEqual(outcome, { count: 1, code: '' }, call)
}

/** The function by which jobs are added. Its tenant is the transaction's, whatever a caller writes into the job. */
const enqueueGuarantee = ({ own, other }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds one job, of the tenant that is set or else of the platform, and answers nothing`,
  holds: async (sql) => {
    const before = await tenantsOf(sql, 'app.jobs', 'true', [])
    const key = randomUUID()
    const added: (string | null)[] = []
    for (const tenant of [own, other, null]) {
      added.push(tenant)
      await enterTenant(sql, tenant)
      // A second time it changes nothing and says nothing of it; a key that another has used is not taken.
      for (let time = 1; time <= 2; time++) {
        const payload = JSON.stringify({ tenant_id: tenant === other ? own : other, time })
        await expectNothing(sql, `app.enqueue('send-mail', $1::text::jsonb, $2)`, [payload, key])
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'idempotency_key = $1', [key]), added.toSorted(nullsLast))
      }
    }
    const after = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(after, [...before, ...added].toSorted(nullsLast))
  },
})

const nullsLast = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

/** Calls what notes something of a person, for each account and for what is none: one entry in each shop of theirs. */
async function expectInTheirShops(
  sql: postgres.Sql,
  { own, other, accounts }: TwoShops,
  { call, entry }: { call: string; entry: string },
): Promise<void> {
  const count = async () => (await tenantsOf(sql, 'app.audit_log', 'true', [])).length
  for (const tenant of [null, own, other]) {
    for (const { what, id, shops } of accounts) {
      const before = await count()
      const request = randomUUID()
      await enterTenant(sql, tenant)
      await expectNothing(sql, call, [id, request])
      const condition = `request_id = $1 and target_id is not distinct from $2 and ${entry}`
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', condition, [request, id]), shops.toSorted(), what)
      assert.equal(await count(), before + shops.length, what)
    }
  }
}

/** The function that notes a failed sign-in, called for accounts that there are and that there are not. */
const failedSignInGuarantee = (shops: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} writes into the log of each shop of the account, and answers nothing`,
  holds: (sql) =>
    expectInTheirShops(sql, shops, {
      call: 'app.record_failed_sign_in($1, $2, null)',
      entry: `target_type = 'user' and action = 'session.sign_in_failed' and actor_user_id is null`,
    }),
})

/** The function that ends sessions, called for those of the user, of another's and for what is none. */
const endSessionsGuarantee = ({ own, other, sessions, accounts }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends the live sessions of the user alone, and writes of each into the log of its own shop`,
  holds: async (sql) => {
    const [user = null] = accounts.filter(({ shops }) => shops.length === 2).map(({ id }) => id)
    const live = { [sessions.own]: own, [sessions.other]: other, [sessions.pending]: null }
    const every = [...Object.keys(live), sessions.single, ...sessions.dead.map(([, id]) => id)]
    const unrevoked = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ id: string }[]>`
          select id from app.sessions where id = any (${every}) and revoked_at is null order by id`
        return rows.map(({ id }) => id)
      })
    // What has expired goes with the others, and nobody is told.
    const expired = sessions.dead.flatMap(([why, id]) => (/idle|ended/.test(why) ? [id] : []))
    const calls: [who: string | null, session: string | null, others: boolean, ended: string[]][] = [
      [user, sessions.own, false, [sessions.own]],
      [user, sessions.other, false, [sessions.other]],
      [user, sessions.pending, false, [sessions.pending]],
      [user, sessions.own, true, [sessions.other, sessions.pending]],
      [user, null, true, Object.keys(live)],
      [user, null, false, []],
      [user, sessions.single, false, []],
      [null, sessions.own, false, []],
      [null, null, true, []],
      [randomUUID(), sessions.own, false, []],
      ...sessions.dead.map(([, id]): (typeof calls)[number] => [user, id, false, []]),
    ]
    const before = await unrevoked()
    for (const tenant of [null, own, other]) {
      for (const [who, session, others, ended] of calls) {
        const request = randomUUID()
        const what = `${who} ${session} ${others}`
        await sql`savepoint call`
        await enterTenant(sql, tenant)
        const call = `app.end_sessions($1, $2, $3 = 'others', 'session.revoked', $4, null)`
        const answered = await attempt(
          sql,
          `select from (select ${call}) as c(n) where n = ${ended.length}`,
          [who, session, others ? 'others' : 'one', request],
          true,
        )
        assert.deepEqual(answered, { count: 1, code: '' }, what)
        const gone = new Set([...ended, ...(others && who !== null ? expired : [])])
        assert.deepEqual(
          await unrevoked(),
          before.filter((id) => !gone.has(id)),
          what,
        )
        const shops = ended.flatMap((id) => live[id] ?? [])
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', 'request_id = $1', [request]), shops.toSorted(), what)
        const apart = `request_id = $1 and (target_id <> all ($2::text::uuid[]) or actor_user_id is distinct from $3)`
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', apart, [request, `{${ended.join()}}`, who]), [], what)
        await sql`rollback to savepoint call`
      }
    }
  },
})

/** The function that notes what a person did to their account, called for accounts that there are and that there are not. */
const ownChangeGuarantee = (shops: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} writes into the log of each shop of the account, and answers nothing`,
  holds: (sql) =>
    expectInTheirShops(sql, shops, {
      call: `app.record_own_change($1, 'user.password_changed', $2, null)`,
      entry: `target_type = 'user' and action = 'user.password_changed' and actor_user_id = target_id`,
    }),
})

/** The function that makes a partition, as the owner of all tables. Asks for a connection that may become the worker. */
const partitionGuarantee = ({ own, other }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} is refused to the Lambdas, and makes for the worker a partition under enforcement`,
  holds: async (sql) => {
    await enterTenant(sql, own)
    const create = (kept: boolean) => attempt(sql, `select app.create_audit_partition('2040-02-29')`, [], kept)
    assert.equal((await create(false)).code, REFUSED, 'the Lambdas')
    await as(sql, 'none', async () => {
      for (const tenant of [own, other]) {
        await sql`
          insert into app.audit_log (tenant_id, occurred_at, action, target_type)
          values (${tenant}, '2040-02-01T00:00:00Z', 'tenant.read', 'tenant')`
      }
    })
    for (let time = 1; time <= 2; time++) {
      assert.deepEqual(await as(sql, 'identity_worker', () => create(true)), { count: 1, code: '' }, 'the worker')
      const moved = await tenantsOf(sql, 'app.audit_log_2040_02', 'true', [])
      assert.deepEqual(moved, [own, other].toSorted())
      assert.deepEqual(await checkCatalogue(sql), [])
      await enterTenant(sql, own)
      const seen = await sql`select tenant_id from app.audit_log where occurred_at >= '2040-01-01Z'`
      assert.deepEqual([...seen], [{ tenant_id: own }])
    }
    await as(sql, 'identity_owner', async () => {
      for (const table of ['audit_log', 'audit_log_2040_02', 'audit_log_default']) {
        await enterTenant(sql, null)
        assert.deepEqual(await attempt(sql, `table app.${table}`), { count: 0, code: '' }, table)
      }
    })
  },
})

const DEFINER_GUARANTEES: Readonly<Record<string, (shops: TwoShops, name: string) => Guarantee>> = {
  tenants_of_session: readerGuarantee,
  sessions_of_session: readerGuarantee,
  enqueue: enqueueGuarantee,
  record_failed_sign_in: failedSignInGuarantee,
  record_own_change: ownChangeGuarantee,
  end_sessions: endSessionsGuarantee,
  create_audit_partition: partitionGuarantee,
  open_vendor_secret: sealedSecretGuarantee,
}

/** Whether a function reads past row security, and answers the holder of a session. */
export const isReader = (name: string): boolean => DEFINER_GUARANTEES[name] === readerGuarantee

/**
 * What a SECURITY DEFINER function promises. Asks for a connection that may become any role, since what a function wrote
 * is not for the Lambdas to see.
 */
export function definerGuarantee(shops: TwoShops, name: string): Guarantee {
  const guarantee = DEFINER_GUARANTEES[name]
  if (guarantee === undefined) throw new Error(`nothing says what ${name} promises: add its guarantee`)
  return guarantee(shops, name)
}

/** The same of every such function. */
export const definersGuarantee = (shops: TwoShops): Guarantee => ({
  title: "guarantee 6: every function that reads or writes past row security keeps to what is its principal's",
  holds: async (sql) => {
    for (const name of shops.definers) {
      await sql`savepoint definer`
      await definerGuarantee(shops, name).holds(sql)
      await sql`rollback to savepoint definer`
    }
  },
})
