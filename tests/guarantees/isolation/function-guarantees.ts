import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { enterTenant, as, attempt, type Guarantee, heldBy, REFUSED, sealedTicket, tenantsOf } from './guarantee.ts'
import {
  checkGuarantee,
  enterSessionGuarantee,
  leaseGuarantee,
  operatorTicketGuarantee,
  readGuarantee,
  renewalGuarantee,
  sealGuarantee,
  ticketGuarantee,
} from './gate-guarantees.ts'
import {
  memberListGuarantee,
  newInvitationGuarantee,
  passwordGuarantee,
  passwordOf,
  tokenGuarantee,
} from './proof-guarantees.ts'
import { mailGuarantee } from './mail-guarantees.ts'
import { sealedSecretGuarantee, serviceOpeningGuarantee } from './sealed-guarantees.ts'
import { serviceEntryGuarantee, serviceKeyGuarantee, serviceProofGuarantee } from './service-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

/** A function that reads across tenants, called with tickets of live sessions and of other ids. */
const readerGuarantee = ({ own, other, sessions }: TwoTenants, name: string): Guarantee => ({
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

/** Expects that a function that writes across tenants returns nothing. */
async function expectNothing(sql: postgres.Sql, call: string, parameters: (string | null)[]): Promise<void> {
  const outcome = await attempt(
    sql,
    `select from (select ${call}) as c(returned) where coalesce(returned::text, '') = ''`,
    parameters,
    true,
  )
  assert.deepEqual(outcome, { count: 1, code: '' }, call)
}

/** app.enqueue. The tenant of a job is the transaction's, even if its payload names another. */
const enqueueGuarantee = ({ own, other }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds one job of the set tenant, or of the platform, and returns its id`,
  holds: async (sql) => {
    const before = await tenantsOf(sql, 'app.jobs', 'true', [])
    const key = randomUUID()
    const added: (string | null)[] = []
    for (const tenant of [own, other, null]) {
      added.push(tenant)
      await enterTenant(sql, tenant)
      // The second call changes nothing and returns the first job. A key that another tenant used is free.
      for (let time = 1; time <= 2; time++) {
        const payload = JSON.stringify({ tenant_id: tenant === other ? own : other, time })
        const [job] = await sql`select app.enqueue('send-mail', ${payload}::text::jsonb, ${key}) as id`
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'idempotency_key = $1', [key]), added.toSorted(nullsLast))
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'id = $1', [job?.['id']]), [tenant])
      }
    }
    const after = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(after, [...before, ...added].toSorted(nullsLast))
  },
})

const nullsLast = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

/** Calls a function with what `proofOf` returns for every kind of user. Expects one audit entry in each of their tenants. */
async function expectInTheirTenants(
  sql: postgres.Sql,
  { own, other, users }: TwoTenants,
  { call, action, proofOf }: { call: string; action: string; proofOf: (user: string | null) => Promise<string> },
): Promise<void> {
  // The sessions that it ends have entries too.
  const written = `action <> 'session.revoked'`
  const count = async () => (await tenantsOf(sql, 'app.audit_log', written, [])).length
  for (const tenant of [null, own, other]) {
    for (const { what, id, tenants } of users) {
      const before = await count()
      const request = randomUUID()
      const proof = await proofOf(id)
      await enterTenant(sql, tenant)
      await expectNothing(sql, call, [proof, request])
      const condition = `${written} and request_id = $1 and target_id is not distinct from $2 and target_type = 'user'
        and action = '${action}' and actor_user_id = target_id`
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', condition, [request, id]), tenants.toSorted(), what)
      assert.equal(await count(), before + tenants.length, what)
    }
  }
}

/** app.audit_failed_sign_ins, called by the worker for failed sign-ins of users and of other ids. */
const failedSignInGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and audits each failed sign-in in the tenants of the user`,
  holds: async (sql) => {
    assert.equal((await attempt(sql, 'select app.audit_failed_sign_ins(9)')).code, REFUSED)
    const { own, other, users } = world
    const entries = `request_id = $1 and target_id is not distinct from $2 and target_type = 'user'
      and action = 'session.sign_in_failed' and actor_user_id is null`
    const count = async () => (await tenantsOf(sql, 'app.audit_log', 'true', [])).length
    for (const tenant of [null, own, other]) {
      for (const { what, id, tenants } of users) {
        const before = await count()
        const request = randomUUID()
        await enterTenant(sql, tenant)
        await as(
          sql,
          'none',
          () => sql`insert into app.failed_sign_ins (user_id, request_id) values (${id}, ${request})`,
        )
        assert.equal(await count(), before, what)
        const [row] = await as(
          sql,
          'identity_worker',
          () => sql<{ taken: number }[]>`select app.audit_failed_sign_ins(9) as taken`,
        )
        assert.equal(row?.taken, 1, what)
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', entries, [request, id]), tenants.toSorted(), what)
        assert.equal(await count(), before + tenants.length, what)
      }
    }
  },
})

/** app.record_bounce and app.clear_bounces, called for the mail of every kind of user. */
const bounceGuarantee = ({ users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and acts only on the user whom a mail was for, in each of their tenants`,
  holds: async (sql) => {
    for (const call of [`select app.record_bounce(gen_random_uuid(), '', '')`, `select app.clear_bounces('')`])
      assert.equal((await attempt(sql, call)).code, REFUSED, call)
    for (const { what, id, tenants } of users) {
      const [mail] = await as(
        sql,
        'none',
        () => sql<{ job: string; address: string }[]>`
          with job as (
            insert into app.jobs (kind, payload, idempotency_key)
            values ('mail', jsonb_build_object('user_id', ${id}::uuid), gen_random_uuid()::text) returning id)
          select job.id as job, coalesce(u.email, 'nobody@of.test') as address
            from job left join app.users u on u.id = ${id}::uuid`,
      )
      const { job = '', address = '' } = mail ?? {}
      await enterTenant(sql, null)
      const report = (to: string, of = job) =>
        as(sql, 'identity_worker', async () => {
          const [row] = await sql<{ news: boolean }[]>`select app.record_bounce(${of}, ${to}, 'bounce') as news`
          return row?.news
        })
      const entries = () => tenantsOf(sql, 'app.audit_log', `action = 'user.bounced' and target_id = $1`, [id])
      assert.equal(await report('another@of.test'), false, `${what}, another address`)
      assert.equal(await report(address, randomUUID()), false, `${what}, another job`)
      assert.deepEqual(await entries(), [], what)
      const exists = address !== 'nobody@of.test'
      assert.equal(await report(address), exists, what)
      assert.equal(await report(address), false, `${what}, again`)
      assert.deepEqual(await entries(), tenants.toSorted(), what)
      const cleared = await as(
        sql,
        'identity_operator',
        () => sql<{ tenant_id: string }[]>`select tenant_id from app.clear_bounces(${address}) where target_id = ${id}`,
      )
      const expected = exists && tenants.length === 0 ? [null] : tenants
      assert.deepEqual(cleared.map((row) => row.tenant_id).toSorted(nullsLast), expected.toSorted(nullsLast), what)
    }
  },
})

/** app.end_sessions, called with tickets of the user and of others, for their sessions and other ids. */
const endSessionsGuarantee = ({ own, other, sessions, users }: TwoTenants, name: string): Guarantee => ({
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
        const call = `app.end_sessions(decode($1, 'hex'), $2, 'session.revoked', $3, null, null)`
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
const endUnusedGuarantee = ({ own, other, sessions, users }: TwoTenants, name: string): Guarantee => ({
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
        await sql`select app.end_unused_sessions(${who}, ${kept}, ${request}, null, null)`
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

const PASSWORD = passwordOf('a test')

/** Gives every user this password. */
const givePasswords = (sql: postgres.Sql) =>
  as(sql, 'none', () => sql`update app.users set password_hash = ${PASSWORD.hash}`)

/** app.change_password, called with tickets of users and of other ids. */
const passwordChangeGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends the other sessions of the ticket's user, and adds an audit entry in each of their tenants`,
  holds: async (sql) => {
    const { sessions } = world
    await givePasswords(sql)
    const change = `app.change_password(decode($1, 'hex'), '\\x${PASSWORD.digest.toString('hex')}', '${PASSWORD.hash}', $2, null, null)`
    await expectInTheirTenants(sql, world, {
      call: `nullif(nullif(${change}, true), false)`,
      action: 'user.password_changed',
      proofOf: (user) => sealedTicket(sql, { user, session: sessions.own }),
    })
    assert.deepEqual(await liveOf(sql, [sessions.own, sessions.other, sessions.pending]), [sessions.own])
    for (const [why, session] of sessions.dead.filter(([of]) => of !== "a disabled user's")) {
      const ticket = await sealedTicket(sql, { user: world.users[0]?.id ?? null, session })
      assert.equal((await attempt(sql, `select ${change}`, [ticket, 'r'])).code, 'TN401', why)
    }
    await passwordGuarantee(world).holds(sql)
  },
})

/** app.change_language, called with tickets of users and of dead sessions. */
const languageGuarantee = ({ sessions, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} changes the ticket's user while the session is live, and nobody else`,
  holds: async (sql) => {
    const user = users[0]?.id ?? null
    const spanish = () => as(sql, 'none', () => sql`select id from app.users where language = 'es'`)
    const change = (ticket: string) =>
      attempt(sql, `select app.change_language(decode($1, 'hex'), 'es')`, [ticket], true)
    for (const [why, session] of sessions.dead.filter(([of]) => of !== "a disabled user's"))
      assert.equal((await change(await sealedTicket(sql, { user, session }))).code, 'TN401', why)
    assert.deepEqual([...(await spanish())], [])
    assert.equal((await change(await sealedTicket(sql, { user, session: sessions.own }))).code, '')
    assert.deepEqual([...(await spanish())], [{ id: user }])
  },
})

/** app.reset_password, called with token hashes of users and of other ids. */
const passwordResetGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} takes an open reset token once, ends the sessions of its user, and audits in each of their tenants`,
  holds: async (sql) => {
    const { sessions, users } = world
    const token = (user: string | null, purpose: string, consumed: string, ends = '1 day') =>
      as(sql, 'none', async () => {
        const hash = randomBytes(32)
        await sql.unsafe(
          `insert into app.tokens (token_hash, purpose, user_id, created_at, expires_at, consumed_at)
           values ($1, $2, $3, clock_timestamp(), now() + $4::text::interval, ${consumed})`,
          [hash, purpose, user, ends],
        )
        return hash.toString('hex')
      })
    const hashes = () =>
      as(sql, 'none', async () =>
        JSON.stringify(await sql`select id, password_hash, email_verified_at from app.users order by id`),
      )
    const before = await hashes()
    const user = users[0]?.id ?? null
    for (const [purpose, consumed, ends, rows] of [
      ['password_reset', `now() - interval '1 ms'`, '1 day', [{ user_id: null }]],
      ['password_reset', 'null', '-1 ms', []],
      ['email_verify', 'null', '1 day', []],
    ] as const) {
      const hash = Buffer.from(await token(user, purpose, consumed, ends), 'hex')
      const returned = await sql`select * from app.reset_password(${hash}, null, 'x', 'x', null, null)`
      assert.deepEqual([...returned], rows, `${purpose} ${consumed}`)
      const found = await sql`select * from app.find_reset(${hash}, null)`
      assert.deepEqual(
        [...found],
        rows.map(() => ({ consumed: true, email: null, full_name: null, tenant_names: null })),
      )
    }
    assert.equal(await hashes(), before)
    const slugs = await as(sql, 'none', () => sql<{ id: string; slug: string }[]>`select id, slug from app.tenants`)
    for (const { what, id, tenants } of users.filter((each) => each.tenants.length > 0)) {
      const hash = Buffer.from(await token(id, 'password_reset', 'null'), 'hex')
      const [found] = await sql<{ tenant_names: string }[]>`select tenant_names from app.find_reset(${hash}, null)`
      const named = slugs.filter(({ slug }) => found?.tenant_names.split('\n').includes(slug))
      assert.deepEqual(named.map((tenant) => tenant.id).toSorted(), tenants.toSorted(), what)
    }
    await expectInTheirTenants(sql, world, {
      call: `(select nullif(count(*) >= 0, true) from app.reset_password(decode($1, 'hex'), null, 'x', $2, null, null))`,
      action: 'user.password_reset',
      proofOf: (id) => token(id, 'password_reset', 'null'),
    })
    assert.deepEqual(await liveOf(sql, [sessions.own, sessions.other, sessions.pending]), [])
  },
})

/** Returns which of these sessions are not revoked. */
const liveOf = (sql: postgres.Sql, ids: string[]): Promise<string[]> =>
  as(sql, 'none', async () => {
    const rows = await sql<{ id: string }[]>`select id from app.sessions where id = any (${ids}) and revoked_at is null`
    return rows.map(({ id }) => id)
  })

/** app.create_audit_partition, which runs as the owner. Requires a connection that may become any role. */
const partitionGuarantee = ({ own, other }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and creates a guarded partition for the worker`,
  holds: async (sql) => {
    await enterTenant(sql, own)
    const [ahead] = await sql<{ day: string; month: string }[]>`
      select (now() + interval '11 months')::date::text as day, to_char(now() + interval '11 months', 'YYYY_MM') as month`
    const { day = '', month = '' } = ahead ?? {}
    const partition = `audit_log_${month}`
    const create = (kept: boolean, of = day) =>
      attempt(sql, 'select app.create_audit_partition($1::text::date)', [of], kept)
    assert.equal((await create(false)).code, REFUSED, 'identity_app')
    await as(sql, 'none', async () => {
      for (const tenant of [own, other]) {
        await sql`
          insert into app.audit_log (tenant_id, occurred_at, action, target_type)
          values (${tenant}, date_trunc('month', ${day}::text::timestamp) at time zone 'UTC', 'tenant.read', 'tenant')`
      }
    })
    for (const unneeded of ['2040-02-29', '1999-12-31']) {
      const refused = await as(sql, 'identity_worker', () => create(false, unneeded))
      assert.equal(refused.code, '22023', unneeded)
    }
    for (let time = 1; time <= 2; time++) {
      assert.deepEqual(await as(sql, 'identity_worker', () => create(true)), { count: 1, code: '' }, 'the worker')
      const moved = await tenantsOf(sql, `app.${partition}`, 'true', [])
      assert.deepEqual(moved, [own, other].toSorted())
      assert.deepEqual(await checkCatalogue(sql), [])
      await enterTenant(sql, own)
      const seen =
        await sql`select tenant_id from app.audit_log where occurred_at >= date_trunc('month', ${day}::text::timestamp)`
      assert.deepEqual([...seen], [{ tenant_id: own }])
    }
    await as(sql, 'identity_owner', async () => {
      for (const table of ['audit_log', partition, 'audit_log_default']) {
        await enterTenant(sql, null)
        assert.deepEqual(await attempt(sql, `table app.${table}`), { count: 0, code: '' }, table)
      }
    })
  },
})

/** The functions of the events: one event for each audit entry, of its tenant, which leases alone show. */
const eventGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: an audit entry adds one event of its tenant, which only the publisher leases and only its lease ends',
  holds: async (sql) => {
    // The fixture drops every trigger.
    const adds = 'create trigger adds_event after insert on app.audit_log for each row execute function app.add_event()'
    await as(sql, 'none', () => sql.unsafe(adds))
    for (const call of ['add_event()', 'claim_events(9, 9)', `end_event_leases('${own}', '[]')`])
      assert.equal((await attempt(sql, `select app.${call}`)).code, REFUSED, call)
    await as(sql, 'none', () => sql`delete from app.events`)
    for (const tenant of [own, other])
      for (const action of ['deal.created', 'session.revoked'])
        await as(
          sql,
          'none',
          () => sql`insert into app.audit_log (tenant_id, action, target_type) values (${tenant}, ${action}, 'deal')`,
        )
    assert.deepEqual(await tenantsOf(sql, 'app.events', 'true', []), [own, other].toSorted())
    await as(sql, 'identity_publisher', async () => {
      const claim = () =>
        sql<
          { xact: string; id: string; tenant_id: string; lease_token: string }[]
        >`select * from app.claim_events(9, 60)`
      const leased = await claim()
      assert.deepEqual(leased.map((event) => event.tenant_id).toSorted(), [own, other].toSorted())
      assert.equal((await claim()).length, 0, 'leased events')
      const outcomes = JSON.stringify(leased.map(({ xact, id }) => ({ xact, id, error: null, delay: null })))
      const end = async (token: string) => {
        const [row] = await sql<
          { ended: number }[]
        >`select app.end_event_leases(${token}, ${outcomes}::text::jsonb) as ended`
        return row?.ended
      }
      assert.equal(await end(randomUUID()), 0, 'an invented lease')
      assert.equal(await end(leased[0]?.lease_token ?? ''), 2)
      assert.equal(await end(leased[0]?.lease_token ?? ''), 0, 'an ended lease')
    })
    assert.deepEqual(await tenantsOf(sql, 'app.events', 'published_at is null', []), [])
  },
})

/** The functions that compute the permissions of roles. */
const permissionsGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 6: a role has the permissions of its base and its own, and none of another tenant',
  holds: async (sql) => {
    for (const call of ['collect_permissions()', 'update_permissions()'])
      assert.equal((await attempt(sql, `select app.${call}`)).code, REFUSED, call)
    await as(sql, 'none', async () => {
      // The fixture drops every trigger.
      await sql.unsafe(`
        create trigger collects before insert or update on app.roles for each row execute function app.collect_permissions();
        create trigger updates after insert on app.role_permissions referencing new table as changed
          for each statement execute function app.update_permissions()`)
      const roles = await sql<{ id: number; tenant_id: string }[]>`
        insert into app.roles (tenant_id, code, label, rank, based_on)
        select unnest(${[own, other]}::uuid[]), 'collected', 'x', 40, 6 returning id, tenant_id`
      for (const { id, tenant_id } of roles)
        await sql`insert into app.role_permissions values (${id}, ${tenant_id === own ? 'own.thing' : 'other.thing'}, ${tenant_id})`
      await sql`insert into app.role_permissions values (6, 'base.thing')`
      const found = await sql<{ tenant_id: string; gained: string[] }[]>`
        select tenant_id, permissions - array(select jsonb_array_elements_text(permissions) from app.roles where id = 7) as gained
          from app.roles where code = 'collected' order by tenant_id = ${own} desc`
      assert.deepEqual(
        [...found],
        [
          { tenant_id: own, gained: ['base.thing', 'own.thing'] },
          { tenant_id: other, gained: ['base.thing', 'other.thing'] },
        ],
      )
    })
  },
})

const DEFINER_GUARANTEES: Readonly<Record<string, (world: TwoTenants, name: string) => Guarantee>> = {
  tenants_of_session: readerGuarantee,
  sessions_of_session: readerGuarantee,
  enqueue: enqueueGuarantee,
  add_event: eventGuarantee,
  collect_permissions: permissionsGuarantee,
  update_permissions: permissionsGuarantee,
  claim_events: eventGuarantee,
  end_event_leases: eventGuarantee,
  audit_failed_sign_ins: failedSignInGuarantee,
  end_sessions: endSessionsGuarantee,
  end_unused_sessions: endUnusedGuarantee,
  create_audit_partition: partitionGuarantee,
  open_vendor_secret: sealedSecretGuarantee,
  record_opening: sealedSecretGuarantee,
  record_opening_for_service: serviceOpeningGuarantee,
  open_secret_for_service: serviceOpeningGuarantee,
  renew_seal: renewalGuarantee,
  current_tenant: sealGuarantee,
  set_tenant: sealGuarantee,
  check_ticket: ticketGuarantee,
  enter_session: enterSessionGuarantee,
  authenticate: checkGuarantee,
  select_tenant: checkGuarantee,
  enter_to_read: readGuarantee,
  enter_to_write: ticketGuarantee,
  operator_ticket: operatorTicketGuarantee,
  record_bounce: bounceGuarantee,
  clear_bounces: bounceGuarantee,
  lease_ticket: leaseGuarantee,
  claim_jobs: leaseGuarantee,
  renew_lease: leaseGuarantee,
  end_lease: leaseGuarantee,
  return_job: leaseGuarantee,
  password_salt: passwordGuarantee,
  is_own_password: passwordGuarantee,
  rehash_password: passwordGuarantee,
  sign_in: passwordGuarantee,
  change_password: passwordChangeGuarantee,
  change_language: languageGuarantee,
  find_reset: passwordResetGuarantee,
  reset_password: passwordResetGuarantee,
  verify_email: tokenGuarantee,
  find_invitation: tokenGuarantee,
  accept_invitation: tokenGuarantee,
  put_invitation: newInvitationGuarantee,
  list_members: memberListGuarantee,
  claim_mails: mailGuarantee,
  mail_of_invitation: mailGuarantee,
  mail_of_user: mailGuarantee,
  mail_of_membership: mailGuarantee,
  service_proof: serviceProofGuarantee,
  enter: serviceProofGuarantee,
  enter_as_service: serviceEntryGuarantee,
  service_of_key: serviceKeyGuarantee,
  introspect: serviceKeyGuarantee,
  changes: serviceKeyGuarantee,
}

/** The functions that identity_auth calls. */
const OF_AUTH: ReadonlySet<string> = new Set(
  (
    'authenticate tenants_of_session sessions_of_session end_sessions select_tenant password_salt is_own_password ' +
    'rehash_password sign_in change_password change_language find_reset reset_password verify_email find_invitation accept_invitation'
  ).split(' '),
)

/** The functions of the door for other services. */
const OF_SERVICES: ReadonlySet<string> = new Set(['service_proof', 'enter', 'enter_as_service'])

const holderOf = (name: string): string => {
  if (name === 'end_unused_sessions') return 'identity_gate'
  if (DEFINER_GUARANTEES[name] === serviceOpeningGuarantee) return 'identity_opener'
  if (OF_SERVICES.has(name)) return 'tenant_bound'
  if (DEFINER_GUARANTEES[name] === serviceKeyGuarantee) return 'identity_services'
  if (DEFINER_GUARANTEES[name] === mailGuarantee) return 'identity_mailer'
  return OF_AUTH.has(name) ? 'identity_auth' : 'identity_app'
}

/** Returns whether a function reads across tenants for the user of a session. */
export const isReader = (name: string): boolean => DEFINER_GUARANTEES[name] === readerGuarantee

/**
 * The promise of a SECURITY DEFINER function. An error of the function breaks it too. Requires a connection that may become
 * any role, to see what it wrote.
 */
export function definerGuarantee(world: TwoTenants, name: string): Guarantee {
  const guarantee = DEFINER_GUARANTEES[name]
  if (guarantee === undefined) throw new Error(`${name} has no guarantee: add one to DEFINER_GUARANTEES`)
  const { title, holds } = heldBy(holderOf(name), guarantee(world, name))
  return {
    title,
    holds: async (sql) => {
      await holds(sql).catch((error: unknown) => {
        throw error instanceof assert.AssertionError
          ? error
          : new assert.AssertionError({ message: `${name}: ${String(error)}` })
      })
    },
  }
}

/** The promises of all of them. */
export const definersGuarantee = (world: TwoTenants): Guarantee => ({
  title: 'guarantee 6: every function that bypasses row security reads and writes only what belongs to its caller',
  holds: async (sql) => {
    for (const name of world.definers) {
      await sql`savepoint definer`
      await definerGuarantee(world, name).holds(sql)
      await sql`rollback to savepoint definer`
    }
  },
})
