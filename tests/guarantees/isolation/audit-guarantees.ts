import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { as, attempt, enterTenant, type Guarantee, REFUSED, tenantsOf, type FunctionGuarantees } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** app.audit_failed_sign_ins, called by the worker for failed sign-ins of users and of other ids. */
export const failedSignInGuarantee = (world: TwoTenants, name: string): Guarantee => ({
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

/** app.create_audit_partition, which runs as the owner. Requires a connection that may become any role. */
export const partitionGuarantee = ({ own, other }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and creates a guarded partition for the worker`,
  holds: async (sql) => {
    await enterTenant(sql, own)
    const [ago] = await sql<{ day: string; year: string }[]>`
      select (now() - interval '1 year')::date::text as day, to_char(now() - interval '1 year', 'YYYY') as year`
    const { day = '', year = '' } = ago ?? {}
    const partition = `audit_log_${year}`
    const create = (kept: boolean, of = day) =>
      attempt(sql, 'select app.create_audit_partition($1::text::date)', [of], kept)
    assert.equal((await create(false)).code, REFUSED, 'identity_app')
    await as(sql, 'none', async () => {
      for (const tenant of [own, other]) {
        await sql`
          insert into app.audit_log (tenant_id, occurred_at, action, target_type)
          values (${tenant}, date_trunc('year', ${day}::text::timestamp) at time zone 'UTC', 'tenant.read', 'tenant')`
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
      const seen = await sql`select tenant_id from app.audit_log where to_char(occurred_at, 'YYYY') = ${year}`
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

/** The functions of the events: one event for each audit entry, of its tenant, which the lease of its job alone shows. */
export const eventGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: an audit entry adds one event of its tenant, which only the publisher gets, and only by the lease of its job',
  holds: async (sql) => {
    // The fixture drops every trigger.
    const adds = 'create trigger adds_event after insert on app.audit_log for each row execute function app.add_event()'
    await as(sql, 'none', () => sql.unsafe(adds))
    const lease = `gen_random_uuid(), gen_random_uuid()`
    for (const call of [
      'add_event()',
      'enqueue_events()',
      `leased_events(${lease})`,
      `keep_events(${lease}, '{}')`,
      'send_events_again(null)',
    ])
      assert.equal((await as(sql, 'identity_app', () => attempt(sql, `select app.${call}`))).code, REFUSED, call)
    const planted = randomUUID()
    await as(sql, 'none', async () => {
      await sql`delete from app.events`
      await sql`delete from app.jobs where kind = 'event'`
      for (const tenant of [own, other])
        for (const action of ['deal.created', 'session.revoked'])
          await sql`insert into app.audit_log (tenant_id, action, target_type) values (${tenant}, ${action}, 'deal')`
      await sql`
        insert into app.jobs (kind, payload, idempotency_key, lease_token, leased_until)
        select kind, jsonb_build_object('from', jsonb_build_object('xact', min(e.xact), 'id', min(e.id::text)), 'to', jsonb_build_object('xact', max(e.xact), 'id', max(e.id::text))), ${planted}, ${planted}, now() + interval '1 minute'
          from app.events e, unnest(array['planted', 'event']) as kind group by kind`
    })
    assert.deepEqual(await tenantsOf(sql, 'app.events', 'true', []), [own, other].toSorted())
    const plantedJobs = () =>
      as(
        sql,
        'none',
        () => sql<{ id: string; keeps: boolean }[]>`
      select id, payload ? 'ids' as keeps from app.jobs where lease_token = ${planted} order by kind`,
      )
    const [forged, otherKind] = await plantedJobs()
    await as(sql, 'identity_publisher', async () => {
      const claim = () => sql<{ id: string; lease_token: string }[]>`select * from app.claim_jobs('event', 9, 60, null)`
      assert.equal((await claim()).length, 0, 'before events have a job')
      await sql`select app.enqueue_events()`
      const [job, ...more] = await claim()
      assert.ok(job)
      assert.equal(more.length, 0, 'one job for both events')
      await sql`select app.enqueue_events()`
      assert.equal((await claim()).length, 0, 'a leased job')
      const leased = async (id = job.id, token = job.lease_token) => [
        ...(await sql<{ id: string; tenant_id: string }[]>`select * from app.leased_events(${id}, ${token})`),
      ]
      const tenants = async () => (await leased()).map((event) => event.tenant_id).toSorted()
      assert.deepEqual(await tenants(), [own, other].toSorted())
      assert.deepEqual(await leased(job.id, randomUUID()), [], 'an invented lease')
      assert.deepEqual(await leased(forged?.id, planted), [], 'a job that the events do not name')
      assert.deepEqual(await leased(otherKind?.id, planted), [], 'a job of another kind')
      const [first] = await leased()
      const keep = (id = job.id, token = job.lease_token) =>
        sql`select app.keep_events(${id}, ${token}, ${[first?.id ?? '']})`
      await keep(job.id, randomUUID())
      assert.equal((await leased()).length, 2, 'after an invented lease')
      await keep(otherKind?.id, planted)
      await keep()
      assert.deepEqual(await leased(), [first])
      await sql`savepoint expired`
      await as(sql, 'none', () => sql`update app.jobs set leased_until = now() where id = ${job.id}`)
      assert.deepEqual(await as(sql, 'identity_publisher', () => leased()), [], 'an expired lease')
      await sql`rollback to savepoint expired`
      assert.equal(
        (await attempt(sql, `select app.end_lease('${job.id}', '${job.lease_token}', null, null)`, [], true)).code,
        '',
      )
      assert.deepEqual(await leased(), [], 'an ended lease')
    })
    assert.deepEqual(
      (await plantedJobs()).map(({ keeps }) => keeps),
      [false, false],
      'the jobs of others',
    )
    await as(sql, 'none', () => sql`update app.jobs set dead_at = now() where id = ${otherKind?.id ?? null}`)
    const again = () =>
      as(sql, 'identity_operator', () => sql<{ jobs: number }[]>`select app.send_events_again('-infinity') as jobs`)
    assert.deepEqual(
      [...(await again())],
      [{ jobs: 1 }],
      'the job that ended, and no leased one or one of another kind',
    )
    const [ofOtherKind] = await as(
      sql,
      'none',
      () => sql<{ dead: boolean }[]>`
      select dead_at is not null as dead from app.jobs where id = ${otherKind?.id ?? null}`,
    )
    assert.equal(ofOtherKind?.dead, true)
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  audit_failed_sign_ins: failedSignInGuarantee,
  create_audit_partition: partitionGuarantee,
  add_event: eventGuarantee,
  enqueue_events: eventGuarantee,
  leased_events: eventGuarantee,
  keep_events: eventGuarantee,
  send_events_again: eventGuarantee,
}
