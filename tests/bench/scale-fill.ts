import type postgres from 'postgres'

/** The size of a database. Every tenant has as many rows of each kind as any other. */
export interface Scale {
  readonly tenants: number
  readonly members: number
  readonly users: number
  readonly sessions: number
  readonly auditEntries: number
  /** The age of the service in months, at most 24. */
  readonly months: number
  readonly deals: number
  /** Of the last month, as many for each tenant as for any other. */
  readonly events: number
}

/** Of the platform, as a synced catalog has them. */
const PLATFORM_STYLES = 8000
/** Of a tenant, beside its members and deals. */
const STYLES = 10
const DESIGNS = 10
const INVITATIONS = 5
const SYNC_RUNS = 5

/** Fills a migrated and seeded database by SQL alone. All of its constraints hold. */
export async function fillScale(connect: () => postgres.Sql, scale: Scale): Promise<void> {
  const { tenants, members, users, deals, events } = scale
  const each = async (...statements: ((sql: postgres.Sql) => Promise<unknown>)[]) => {
    const sql = connect()
    // Triggers, of foreign keys too, would check row by row what the statements below make right.
    await sql`set session_replication_role = replica`
    for (const statement of statements) await statement(sql)
    await sql.end()
  }

  await each(
    (sql) => sql`create schema scale`,
    (sql) =>
      sql`create table scale.tenants as select n, gen_random_uuid() as id from generate_series(0, ${tenants - 1}::int) n`,
    (sql) =>
      sql`create table scale.users as select n, gen_random_uuid() as id from generate_series(0, ${users - 1}::int) n`,
    (sql) => sql`
      insert into app.tenants (id, slug, legal_name, status, created_at)
      select id, 'scale-' || n, 'Scale Tenant ' || n, 'active', now() - interval '25 months' from scale.tenants`,
    (sql) => sql`
      insert into app.users (id, email, full_name, email_verified_at, created_at)
      select id, 'person' || n || '@scale.test', 'Person ' || n, now(), now() - interval '25 months' from scale.users`,
    (sql) => sql`
      create table scale.members as
      select t.n as tenant, j, t.id as tenant_id, u.id as user_id, gen_random_uuid() as id,
             case when j = 0 then 1 when j < 4 then 2 else 3 + j % 5 end as role_id
        from scale.tenants t cross join generate_series(0, ${members - 1}::int) j
        join scale.users u on u.n = (t.n * ${Math.max(1, Math.round(users / tenants))}::int + j) % ${users}::int`,
    (sql) => sql`create index on scale.members (tenant, j)`,
    (sql) => sql`analyze scale.members, scale.tenants, scale.users`,
  )
  await Promise.all([
    each(
      (sql) => sql`
        insert into app.memberships (id, tenant_id, user_id, role_id, accepted_at, revoked_at, created_at)
        select id, tenant_id, user_id, role_id, now() - interval '24 months', case when j % 20 = 19 then now() end,
               now() - interval '25 months' + make_interval(secs => j)
          from scale.members`,
      (sql) => fillSessions(sql, scale),
      (sql) => sql`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        select sha256((t.id::text || i)::bytea), 'invite', t.id, 'invited' || t.n || '-' || i || '@scale.test', 7, now() + interval '7 days'
          from scale.tenants t, generate_series(1, ${INVITATIONS}::int) i`,
      (sql) => sql`
        insert into app.designs (tenant_id, name, created_by, created_at)
        select m.tenant_id, 'Design ' || i, m.user_id, now() - make_interval(days => i)
          from scale.members m, generate_series(1, ${DESIGNS}::int) i where m.j = 8`,
      (sql) => sql`
        insert into app.design_assets (tenant_id, design_id, file_name, media_type, size_bytes, sha256, is_primary)
        select d.tenant_id, d.id, 'front-' || i || '.svg', 'image/svg+xml', 20000, encode(sha256(d.id::text::bytea), 'hex'), i = 1
          from app.designs d, generate_series(1, 2) i where d.name ~ '^Design '`,
      (sql) => sql`
        insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key)
        select id, 'vendor-credential', 'arn:aws:kms:us-east-1:000000000000:key/scale', sha256(id::text::bytea) from scale.tenants`,
      (sql) => sql`
        insert into app.vendor_accounts
          (tenant_id, vendor, account_number, status, verified_at, sealed_secret, data_key_id)
        select k.tenant_id, 'ss-activewear', '5' || t.n, 'verified', now(), sha256('a') || sha256('b'), k.id
          from app.data_keys k join scale.tenants t on t.id = k.tenant_id`,
      (sql) => sql`
        insert into app.sync_runs
          (tenant_id, vendor, vendor_account_id, status, created_at, started_at, finished_at, styles, variants, prices)
        select a.tenant_id, a.vendor, a.id, 'succeeded', now() - make_interval(days => i), now() - make_interval(days => i),
               now() - make_interval(days => i), ${STYLES}::int, ${2 * STYLES}::int, ${2 * STYLES}::int
          from app.vendor_accounts a join scale.tenants t on t.id = a.tenant_id, generate_series(1, ${SYNC_RUNS}::int) i`,
    ),
    each(
      (sql) => fillAuditLog(sql, scale),
      (sql) => sql`
        insert into app.events (id, tenant_id, occurred_at, action, target_type, target_id, after, job_id)
        select gen_random_uuid(), t.id, at, 'deal.changed', 'deal', gen_random_uuid(), '{"status": "quoted"}', gen_random_uuid()
          from generate_series(1, ${events}::int) i
          cross join lateral (select now() - interval '29 days' * (1 - i::float / ${events}::int) as at) happened
          join scale.tenants t on t.n = i % ${tenants}::int`,
      (sql) => sql`
        insert into app.styles (tenant_id, style_number, name, brand, category, vendors)
        select t.id, 'T-' || i, 'Team shirt ' || i, 'House brand', 'T-Shirts', array['ss-activewear']
          from scale.tenants t, generate_series(1, ${STYLES}::int) i`,
      (sql) => sql`
        insert into app.styles (style_number, name, brand, category, vendors)
        select 'P-' || lpad(i::text, 5, '0'), 'Cotton shirt ' || i, 'Brand ' || i % 40, 'T-Shirts', array['ss-activewear']
          from generate_series(1, ${PLATFORM_STYLES}::int) i`,
      (sql) => sql`
        insert into app.variants (tenant_id, style_id, style_scope, color, size_id, vendor_size)
        select s.tenant_id, s.id, s.scope, 'Navy', z.id, z.code
          from app.styles s join scale.tenants t on t.id = s.tenant_id join app.sizes z on z.id in (3, 4)`,
      (sql) => sql`
        insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku)
        select v.tenant_id, v.id, v.scope, 'ss-activewear', substr(v.id::text, 1, 23)
          from app.variants v join scale.tenants t on t.id = v.tenant_id`,
      (sql) => sql`
        insert into app.vendor_prices (tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at)
        select v.tenant_id, v.id, v.scope, 'ss-activewear', 7.25, 'USD', now()
          from app.variants v join scale.tenants t on t.id = v.tenant_id`,
      (sql) => sql`
        insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price)
        select s.tenant_id, s.id, s.scope, q, 12 - q / 48.0
          from app.styles s join scale.tenants t on t.id = s.tenant_id, unnest(array[1, 48, 144]) q`,
      (sql) => sql`
        insert into app.deals (tenant_id, number, customer_name, status, currency, created_by, created_at)
        select m.tenant_id, i, 'Customer ' || i, (array['draft', 'quoted', 'won', 'lost'])[1 + i % 4], 'USD', m.user_id,
               now() - interval '24 months' + make_interval(hours => i)
          from scale.members m, generate_series(1, ${Math.round(deals / tenants)}::int) i where m.j = 5`,
      (sql) => sql`
        insert into app.deal_counters (tenant_id, last_number)
        select id, ${Math.round(deals / tenants)}::int from scale.tenants`,
      (sql) => sql`
        insert into app.deal_lines
          (tenant_id, deal_id, position, style_id, style_scope, color, size_id, quantity, unit_price, price_source, currency)
        select d.tenant_id, d.id, i, s.id, s.scope, 'Navy', 4, 48, 11, 'break', 'USD'
          from app.deals d join scale.tenants t on t.id = d.tenant_id, generate_series(1, 2) i,
               lateral (select id, scope from app.styles s where s.tenant_id = d.tenant_id and s.style_number = 'T-' || i) s`,
    ),
  ])
  // The triggers of roles compute their permissions.
  const sql = connect()
  await sql`
    insert into app.roles (tenant_id, code, label, rank, based_on)
    select id, 'helper', 'Helper', 10, 7 from scale.tenants`
  await sql`
    insert into app.role_permissions (tenant_id, role_id, permission)
    select tenant_id, id, 'customer.write' from app.roles where code = 'helper' and tenant_id is not null`
  await sql.end()
  await Promise.all([
    each((sql) => sql`vacuum analyze app.audit_log, app.events`),
    each((sql) =>
      sql`drop schema scale cascade`.then(
        () => sql`vacuum analyze app.sessions, app.memberships, app.users, app.tenants`,
      ),
    ),
  ])
  await each(
    (sql) =>
      sql`vacuum analyze app.styles, app.variants, app.variant_skus, app.vendor_prices, app.price_breaks, app.deals`,
    (sql) =>
      sql`vacuum analyze app.deal_lines, app.designs, app.design_assets, app.tokens, app.roles, app.role_permissions`,
    (sql) => sql`vacuum analyze app.vendor_accounts, app.sync_runs, app.data_keys`,
  )
}

/** The sessions began in the last days, in the order of their rows. None ended long enough ago to be deleted. */
const fillSessions = (sql: postgres.Sql, { sessions, tenants, members }: Scale) => sql`
  insert into app.sessions
    (token_key, user_id, tenant_id, csrf_secret, ip_hash, user_agent, created_at, last_seen_at, idle_expires_at, absolute_expires_at)
  select sha256(('token' || i)::bytea), m.user_id, m.tenant_id, sha256(('csrf' || i)::bytea), sha256(('ip' || i)::bytea),
         'Mozilla/5.0 (X11; Linux x86_64) scale', at, now() - interval '1 hour', now() + interval '11 hours', at + interval '7 days'
    from generate_series(1, ${sessions}::int) i
    cross join lateral (select now() - interval '6 days' + interval '5 days' * i / ${sessions}::int as at) born
    join scale.members m on m.tenant = i % ${tenants}::int and m.j = (i / ${tenants}::int) % ${Math.min(19, members)}::int`

/** The entries are spread evenly over the months, and over the tenants. */
async function fillAuditLog(sql: postgres.Sql, { auditEntries, months, tenants, members }: Scale): Promise<void> {
  await sql`
    select app.create_audit_partition(day::date)
      from generate_series(now() - make_interval(months => ${months - 1}::int), now(), interval '1 month') as day`
  await sql`
    insert into app.audit_log
      (tenant_id, occurred_at, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)
    select m.tenant_id, date_trunc('month', now()) - make_interval(months => ${months - 1}::int) + i * part.length,
           m.user_id, (array['deal.created', 'deal.changed', 'session.tenant_selected', 'membership.role_changed'])[1 + i / ${tenants}::int % 4],
           (array['deal', 'deal', 'session', 'membership'])[1 + i / ${tenants}::int % 4], gen_random_uuid(),
           case when i % 2 = 0 then '{"status": "draft"}'::jsonb end, '{"status": "quoted"}', gen_random_uuid()::text, sha256(i::text::bytea)
      from generate_series(1, ${auditEntries}::int) i
      cross join (select (now() - date_trunc('month', now()) + make_interval(months => ${months - 1}::int)) / ${auditEntries}::int as length) part
      join scale.members m on m.tenant = i % ${tenants}::int and m.j = (i / ${tenants}::int) % ${members}::int`
}
