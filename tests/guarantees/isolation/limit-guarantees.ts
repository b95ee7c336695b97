import assert from 'node:assert/strict'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED } from './guarantee.ts'

const KEYS = [1, 2, 3].map((n) => `sha256('limit ${n}')`)
const [OWN, PART, ANOTHER] = KEYS

/** The functions that count, called for one limit while others are counted. */
export const limitGuarantee = (_world: unknown, name: string): Guarantee => ({
  title: `guarantee 6: ${name} changes the counts of the named limits alone, and returns none of another`,
  holds: async (sql) => {
    const set = (windowStart: string) =>
      as(sql, 'none', async () => {
        await sql`delete from app.rate_limits`
        await sql.unsafe(
          `insert into app.rate_limits (key, window_start, attempts, part_of)
           values (${OWN}, ${windowStart}, 5, null), (${PART}, ${windowStart}, 5, ${OWN}), (${ANOTHER}, ${windowStart}, 5, null)`,
        )
      })
    const counts = () =>
      as(sql, 'none', async () => {
        const rows = await sql.unsafe<{ attempts: number }[]>(
          `select sum(attempts)::int as attempts from unnest(array[${KEYS.join()}]) with ordinality as k(key, place)
             left join app.rate_limits r using (key) group by place order by place`,
        )
        return rows.map(({ attempts }) => attempts)
      })
    const now = `date_bin('1 hour', clock_timestamp(), timestamptz '2000-01-01 00:00:00Z')`
    const limits = (most: number) =>
      `jsonb_build_array(jsonb_build_object('key', encode(${OWN}, 'hex'), 'most', ${most}, 'window_seconds', 3600))`
    const expected: readonly (readonly [call: string, at: string, left: readonly (number | null)[]])[] =
      name === 'count_attempts'
        ? [
            [`select * from app.count_attempts(${limits(9)}, null)`, now, [6, 5, 5]],
            [`select * from app.count_attempts(${limits(5)}, null)`, now, [5, 5, 5]],
          ]
        : [[`select app.forget_attempts(${OWN})`, now, [null, null, 5]]]
    for (const [call, at, left] of expected) {
      await set(at)
      assert.equal((await attempt(sql, call, [], true)).code, '', call)
      assert.deepEqual(await counts(), left, call)
    }
    assert.equal((await as(sql, 'identity_worker', () => attempt(sql, expected[0]?.[0] ?? ''))).code, REFUSED)
  },
})

/** What each function of the job that deletes may delete. */
const OLD: Readonly<Record<string, readonly [table: string, condition: string]>> = {
  delete_old_attempts: ['rate_limits', `window_start < now() - interval '2 days'`],
  delete_old_networks: ['known_networks', `seen_at < now() - interval '30 days'`],
  delete_old_sessions: ['sessions', `absolute_expires_at < now() - interval '30 days'`],
  delete_old_tokens: ['tokens', `expires_at < now() - interval '30 days'`],
  delete_old_jobs: [
    'jobs',
    `coalesce(completed_at, dead_at) is not null and coalesce(completed_at, dead_at) < now() - interval '30 days'`,
  ],
  delete_old_events: ['events', 'job_id is not null and not exists (select from app.jobs j where j.id = job_id)'],
}

/** The functions of the job that deletes, while there is what is not old enough. */
export const deletionGuarantee = (_world: unknown, name: string): Guarantee => ({
  title: `guarantee 6: ${name} deletes for the job that maintains alone, and nothing that is still in use`,
  holds: async (sql) => {
    const call = `select app.${name}(1000)`
    const [table, condition] = OLD[name] ?? assert.fail(name)
    const kept = () =>
      as(sql, 'none', async () => (await sql.unsafe(`select from app.${table} where not (${condition})`)).length)
    await as(sql, 'none', async () => {
      await sql`delete from app.events`
      await sql`
        insert into app.jobs (kind, payload, idempotency_key, created_at, run_at, completed_at, dead_at)
        select 'mail', '{}'::jsonb, 'ended ' || n, now() - interval '90 days', now() - interval '90 days',
               case when n % 2 = 0 then now() - make_interval(days => n) end, case when n % 2 = 1 then now() - make_interval(days => n) end
          from unnest(array[1, 28, 29, 31, 32]) as n
        union all select 'mail', '{}', 'has not ended', now() - interval '90 days', now() - interval '90 days', null, null`
      await sql`
        insert into app.events (id, tenant_id, occurred_at, action, target_type, job_id)
        select ('00000000-0000-0000-0000-00000000000' || place)::uuid, (select id from app.tenants limit 1), now() - interval '90 days', 'deal.created', 'deal', job
          from unnest(array[gen_random_uuid(), (select id from app.jobs where idempotency_key = 'ended 1'), null]) with ordinality as e(job, place)`
      await sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        select sha256(n::text::bytea), 'email_verify', (select id from app.users limit 1), now() - make_interval(days => n)
          from unnest(array[29, 31]) as n`
      await sql`insert into app.rate_limits values (sha256('kept'), now() - interval '47 hours', 1), (sha256('old'), now() - interval '3 days', 1)`
      await sql`insert into app.known_networks values (sha256('kept'), now() - interval '29 days'), (sha256('old'), now() - interval '31 days')`
    })
    const before = await kept()
    assert.ok(before > 0)
    for (const role of ['identity_app', 'identity_auth', 'identity_services', 'tenant_bound'])
      assert.equal((await as(sql, role, () => attempt(sql, call))).code, REFUSED, role)
    assert.equal((await as(sql, 'identity_worker', () => attempt(sql, call, [], true))).code, '')
    assert.equal(await kept(), before)
    const left = await as(sql, 'none', () => sql.unsafe(`select from app.${table} where ${condition}`))
    assert.equal(left.length, 0)
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  count_attempts: limitGuarantee,
  forget_attempts: limitGuarantee,
  delete_old_attempts: deletionGuarantee,
  delete_old_networks: deletionGuarantee,
  delete_old_sessions: deletionGuarantee,
  delete_old_tokens: deletionGuarantee,
  delete_old_jobs: deletionGuarantee,
  delete_old_events: deletionGuarantee,
}
