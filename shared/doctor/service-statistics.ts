import type postgres from 'postgres'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'

/**
 * Lists the texts of guarded tables of other services of which the planner keeps statistics: EXPLAIN shows any tenant how many rows of
 * others it expects for a value. They are columns, expressions of indexes, and statistics of several columns.
 */
export async function serviceStatistics(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const rows = await tx<{ object: string; repair: string }[]>`
    with guarded as (
      select c.oid, n.nspname, c.relname
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname not in ('app', 'migrations', 'revocation') and exists (
         select from pg_policy p where p.polrelid = c.oid and to_regrole('tenant_bound') = any (p.polroles))
    ), texts as (
      select t.oid from pg_type t left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
       where t.typcategory = 'S' or e.typcategory = 'S' or t.typname in ('bytea', 'json', 'jsonb', 'xml')
    )
    select format('%I.%I.%I', g.nspname, g.relname, a.attname) as object,
           format('alter table %I.%I alter column %I set statistics 0, alter column %I type %s;', g.nspname, g.relname, a.attname,
                  a.attname, format_type(a.atttypid, a.atttypmod)) as repair
      from guarded g
      join pg_attribute a on a.attrelid = g.oid and a.attnum > 0 and not a.attisdropped and a.atttypid in (select oid from texts)
     where coalesce(a.attstattarget, -1) <> 0
    union all
    select format('%I.%I', g.nspname, c.relname),
           format('alter index %I.%I alter column %s set statistics 0; reindex index %I.%I', g.nspname, c.relname, a.attnum, g.nspname, c.relname)
      from guarded g
      join pg_index i on i.indrelid = g.oid
      join pg_class c on c.oid = i.indexrelid
      join pg_attribute a on a.attrelid = c.oid and a.atttypid in (select oid from texts)
     where i.indkey[a.attnum - 1] = 0 and coalesce(a.attstattarget, -1) <> 0
    union all
    select format('%s.%I', s.stxnamespace::regnamespace, s.stxname), format('drop statistics %s.%I;', s.stxnamespace::regnamespace, s.stxname)
      from guarded g join pg_statistic_ext s on s.stxrelid = g.oid
     where coalesce(s.stxstattarget, -1) <> 0
     order by 1`
  return rows.map(({ object, repair }) => ({
    severity: 'warning',
    check: 'service-statistics',
    object,
    fault: 'the planner keeps statistics of it, so EXPLAIN tells one tenant what others have',
    repair,
  }))
}
