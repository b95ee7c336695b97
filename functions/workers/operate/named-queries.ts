import { OWNER_ROLE_ID } from '#shared/identity/role.ts'
import type { Sql } from '#shared/db/connect.ts'

/** A statement that operators may run. It reads, and returns no secret, no hash, no text of a mail and nothing that a tenant stored. */
interface NamedQuery {
  readonly shows: string
  /** Runs it as the operators' login. With a tenant's id it returns the rows of that tenant. */
  readonly run: (sql: Sql, tenantId: string | null) => Promise<object[]>
  /** Its rows belong to no tenant. */
  readonly ofNoTenant?: true
}

/** Every statement of `operate sql`. `npm run runbook` lists them in infra/runbook/looking.md. */
export const NAMED_QUERIES = {
  bounces: {
    shows: 'invitations of the last day that bounced, by tenant',
    run: (sql, tenant) => sql`
      select t.slug as tenant, b.invitations
        from app.bounced_invitations() b join app.tenants t on t.id = b.tenant_id
       where ${tenant}::uuid is null or t.id = ${tenant}::uuid
       order by b.invitations desc, t.slug limit 200`,
  },
  connections: {
    shows: 'connections to the database, by login',
    ofNoTenant: true,
    run: (sql) => sql`
      select usename as login, count(*)::int as connections
        from pg_stat_activity where datname = current_database() group by 1 order by 2 desc, 1`,
  },
  'dead-letters': {
    shows: 'jobs that were dead-lettered, with their error, the newest first',
    run: (sql, tenant) => sql`
      select d.kind, d.id, t.slug as tenant, d.attempts, d.last_error, d.dead_at
        from app.dead_letters() d left join app.tenants t on t.id = d.tenant_id
       where ${tenant}::uuid is null or t.id = ${tenant}::uuid
       order by d.dead_at desc limit 200`,
  },
  'failed-syncs': {
    shows: 'sync runs of the last hour that failed, by tenant, vendor and reason',
    run: (sql, tenant) => sql`
      select t.slug as tenant, f.vendor, f.error, f.runs
        from app.failed_syncs() f join app.tenants t on t.id = f.tenant_id
       where ${tenant}::uuid is null or t.id = ${tenant}::uuid
       order by f.runs desc, t.slug, f.vendor limit 200`,
  },
  'kms-keys': {
    shows: 'data keys that are not destroyed, by KMS key and tenant',
    run: (sql, tenant) => sql`
      select k.kms_key_arn, t.slug as tenant, k.data_keys
        from app.kms_keys_in_use() k join app.tenants t on t.id = k.tenant_id
       where ${tenant}::uuid is null or t.id = ${tenant}::uuid
       order by k.kms_key_arn, t.slug limit 1000`,
  },
  locks: {
    shows: 'connections that wait for a lock, and the connections that have it',
    ofNoTenant: true,
    run: (sql) => sql`
      select l.pid, a.usename as login, l.locktype as lock, l.relation::regclass::text as relation, l.mode,
             (select string_agg(format('%s (%s)', b.pid, b.usename), ', ' order by b.pid)
                from pg_stat_activity b where b.pid = any (pg_blocking_pids(l.pid))) as waits_for
        from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database() order by l.pid`,
  },
  partitions: {
    shows: 'partitions of the audit log, with their rows by the statistics',
    ofNoTenant: true,
    run: (sql) => sql`
      select c.oid::regclass::text as partition, pg_get_expr(c.relpartbound, c.oid) as years,
             pg_stat_get_live_tuples(c.oid)::int as rows
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = to_regclass('app.audit_log') order by 1`,
  },
  settings: {
    shows: 'settings of the server that infra/aws/database.ts sets or depends on',
    ofNoTenant: true,
    run: (sql) => sql`
      select name, setting from pg_settings
       where name in ('max_connections', 'jit', 'log_error_verbosity', 'pg_stat_statements.track_utility') order by 1`,
  },
  'temporary-files': {
    shows: 'temporary files of the database, and their bytes, since its statistics began',
    ofNoTenant: true,
    run: (sql) => sql`
      select datname as database, temp_files::int as files, temp_bytes::float8 as bytes
        from pg_stat_database where datname = current_database()`,
  },
  tenants: {
    shows:
      'tenants with their status, when their invitations were stopped, and how many owners can sign in, those without one first',
    run: (sql, tenant) => sql`
      select t.slug as tenant, t.status, t.invitations_stopped_at, count(u.id)::int as owners
        from app.tenants t
        left join app.memberships m on m.tenant_id = t.id and m.role_id = ${OWNER_ROLE_ID}::integer
                                    and m.accepted_at is not null and m.revoked_at is null
        left join app.users u on u.id = m.user_id and u.disabled_at is null
       where t.deleted_at is null and (${tenant}::uuid is null or t.id = ${tenant}::uuid)
       group by t.id, t.slug, t.status, t.invitations_stopped_at order by owners, t.slug limit 200`,
  },
  transactions: {
    shows: 'open transactions, the oldest first, with their age in transactions and the tables that they have locked',
    ofNoTenant: true,
    run: (sql) => sql`
      select a.pid, a.usename as login, greatest(age(a.backend_xmin), age(a.backend_xid)) as age,
             (select string_agg(distinct c.oid::regclass::text, ', ')
                from pg_locks l join pg_class c on c.oid = l.relation
               where l.pid = a.pid and l.granted and c.relkind in ('r', 'p') and c.relnamespace <> 'pg_catalog'::regnamespace) as tables
        from pg_stat_activity a
       where a.datname = current_database() and a.pid <> pg_backend_pid()
         and exists (select from pg_locks l where l.pid = a.pid and l.locktype = 'virtualxid' and l.granted)
       order by 3 desc nulls last, a.pid`,
  },
} as const satisfies Readonly<Record<string, NamedQuery>>

export type QueryName = keyof typeof NAMED_QUERIES

export const QUERY_NAMES = Object.keys(NAMED_QUERIES) as QueryName[]
