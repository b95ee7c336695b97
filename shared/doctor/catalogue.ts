import type postgres from 'postgres'
import {
  ACCOUNT_TABLES,
  CATALOGUE,
  GLOBAL_KEYS,
  LOGINS,
  NOLOGINS,
  PLATFORM,
  QUALIFIED,
  ROLES,
  SCOPE,
  listed,
} from '#shared/doctor/catalogue-objects.ts'

/** Something in the database that could expose rows to another tenant. `object` is quoted as in SQL. */
export interface Finding {
  readonly check: CatalogueCheck
  readonly object: string
  readonly detail?: string
}

/** Each check by name, as a query for the objects that fail it, with a detail. */
const CHECKS = {
  'row-security-not-enabled': 'select name, null from guarded_table where not relrowsecurity',
  'row-security-not-forced': 'select name, null from guarded_table where not relforcerowsecurity',
  'row-security-without-policy': `
    select name, null from tenant_table t where not exists (select from pg_policy where polrelid = t.oid)`,
  // Leaks nothing, but is a mistake: the statement is allowed and never finds a row.
  'grant-without-policy': `
    select distinct t.name, g.name || ' ' || lower(p.type)
      from tenant_table t
      join privilege p using (oid)
      join limited_role g on g.oid = p.grantee
     where t.relrowsecurity and p.type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') and not exists (
       select from pg_policy o
        where o.polrelid = t.oid and o.polpermissive
          and (o.polroles @> array[g.oid] or o.polroles @> array[0::oid]
               or g.oid in (select oid from bound_role) and o.polroles @> array[to_regrole('tenant_bound')::oid])
          and o.polcmd in ('*', case p.type when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w'
                                            else 'd' end))`,
  'policy-for-public': `
    select r.name || ' ' || quote_ident(p.polname), null from pg_policy p join relation r on r.oid = p.polrelid
     where 0 = any (p.polroles)`,
  'policy-always-true': `
    select r.name || ' ' || quote_ident(p.polname), null from pg_policy p join relation r on r.oid = p.polrelid
     where p.polpermissive and p.oid not in (select oid from open_policy)
       and 'true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
       and exists (select from unnest(p.polroles) as role(oid) left join pg_roles o using (oid)
                    where coalesce(o.rolname, '') not in ('identity_resolver', 'identity_gate'))`,
  'policy-ignores-tenant': `
    select name, coalesce(qual, written) from policy p
     where not exists (
         select from pg_depend d join routine f on f.oid = d.refobjid and f.name = 'app.current_tenant()'
          where d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_proc'::regclass)
        or not exists (
         select from pg_depend d
          where d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
            and d.refobjid = p.table_oid and d.refobjsubid = p.attnum)`,
  // Postgres calls a function in a condition for each row, unless it is a subquery.
  'policy-calls-for-each-row': String.raw`
    select name, expression
      from (select r.name || ' ' || quote_ident(p.polname) as name,
                   unnest(array[pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)]) as expression
              from pg_policy p join relation r on r.oid = p.polrelid) as policies
     where regexp_replace(expression, '\( SELECT (app\.)?current_tenant\(\) AS current_tenant\)', '', 'g') ~ '\mcurrent_tenant\('`,
  // Without it, a role writes audit entries in the name of another user.
  'actor-not-checked': `
    select distinct r.name, g.name
      from relation r
      join privilege p using (oid)
      join service_role g on g.oid = p.grantee
     where r.name = 'app.audit_log' and p.type = 'INSERT' and not exists (
       select from pg_policy o
        where o.polrelid = r.oid and not o.polpermissive and o.polcmd = 'a' and o.polroles @> array[g.oid]
          and replace(pg_get_expr(o.polwithcheck, o.polrelid), 'app.', '')
            = '((NOT (actor_user_id IS DISTINCT FROM ( SELECT acting_user() AS acting_user))) AND (NOT (actor_key_id IS DISTINCT FROM ( SELECT acting_key() AS acting_key))))')`,
  // A condition is certain to admit only the tenant's own rows if it contains OWN and combines conditions by AND alone.
  'policy-admits-other-tenants': String.raw`
    select name, expression from policy, unnest(array[qual, written]) as expression
     where expression !~ '\mOWN\M' or expression ~ '\m(OR|CASE|COALESCE|DISTINCT|NOT)\M'`,
  'policy-admits-null-tenant': String.raw`
    select name, written from policy where written = 'true' or written ~ 'IS NULL|\m(COALESCE|DISTINCT)\M'`,
  'role-missing': `
    select wanted, null
      from unnest(${listed(ROLES)}) as wanted
     where not exists (select from pg_roles where rolname = wanted)`,
  'role-attribute': `
    select r.rolname, a.attribute
      from pg_roles r, lateral (values
        ('superuser', rolsuper), ('bypassrls', rolbypassrls), ('createrole', rolcreaterole), ('createdb', rolcreatedb),
        ('replication', rolreplication),
        ('login', rolcanlogin and rolname = any (${listed(NOLOGINS)}))) as a(attribute, held)
     where held and (rolname = any (${listed(ROLES)}) or r.oid in (select oid from bound_role))`,
  // Aurora signs a member of rds_iam in with a token in place of a password.
  'role-membership': `
    select s.name, pg_get_userbyid(m.roleid) from pg_auth_members m join limited_role s on s.oid = m.member
     where s.name = any (${listed(LOGINS)})
        or m.roleid not in (select oid from bound_role) and pg_get_userbyid(m.roleid) <> 'rds_iam'`,
  // The owner may become identity_gate to create its functions. Another member could seal any tenant.
  'gate-member': `
    select pg_get_userbyid(m.member), null from pg_auth_members m
     where m.roleid = to_regrole('identity_gate')
       and (m.inherit_option or m.set_option) and pg_get_userbyid(m.member) <> 'identity_owner'`,
  'seal-readable': `
    select coalesce(nullif(x.grantee, 0)::regrole::text, 'PUBLIC'), lower(x.privilege_type)
      from relation r cross join lateral (
        select * from aclexplode(r.relacl)
        union all
        select e.* from pg_attribute a, aclexplode(a.attacl) e where a.attrelid = r.oid) as x
     where r.name = 'app.seal' and x.grantee <> r.relowner
       and not (x.grantee = to_regrole('identity_gate') and x.privilege_type = 'SELECT')`,
  'role-owns-object': `
    select o.type || ' ' || o.identity, s.name
      from pg_shdepend d
      join limited_role s on s.oid = d.refobjid
      cross join lateral pg_identify_object(d.classid, d.objid, d.objsubid) as o
     where d.refclassid = 'pg_authid'::regclass and d.deptype = 'o'
       and d.dbid in (0, (select oid from pg_database where datname = current_database()))`,
  // FORCE ROW LEVEL SECURITY binds identity_owner. Another owner may be a superuser, whom nothing binds.
  'owned-by-another': `
    select name, pg_get_userbyid(relowner) from relation
     where nspname = 'app' and pg_get_userbyid(relowner) <> 'identity_owner'
    union all
    select name, pg_get_userbyid(proowner) from routine
     where nspname = 'app' and not prosecdef and pg_get_userbyid(proowner) <> 'identity_owner'`,
  // grants.json lists what tenant_bound holds. A member holds nothing else of the service.
  'service-reaches-app': `
    select p.name, b.name || ' ' || lower(p.type) from privilege p join bound_role b on b.oid = p.grantee
     where p.name ~ '^(app|migrations)[.]' and b.name <> 'tenant_bound'
    union all
    select r.name, b.name || ' execute' from routine r, aclexplode(r.proacl) x join bound_role b on b.oid = x.grantee
     where r.nspname = 'app' and b.name <> 'tenant_bound'`,
  // A table without tenant_id has no guard. A service may read such a table, for example a list of countries.
  'service-writes-unguarded': `
    select distinct p.name, b.name || ' ' || lower(p.type) from privilege p join bound_role b on b.oid = p.grantee
     where p.relkind in ('r', 'p', 'f') and p.type in ('INSERT', 'UPDATE', 'DELETE') and p.oid not in (select oid from guarded_table)`,
  'privilege-past-row-security': `
    select p.name, g.name || ' ' || lower(p.type) from privilege p join grantee g on g.oid = p.grantee
     where p.relkind <> 'S' and p.type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')`,
  'grant-to-public': `
    select name, lower(type) from privilege where grantee = 0
    union all
    select r.name, lower(x.privilege_type) from routine r, aclexplode(coalesce(r.proacl, acldefault('f', r.proowner))) x
     where r.nspname = 'app' and x.grantee = 0
    union all
    select nspname, lower(x.privilege_type) from pg_namespace, aclexplode(nspacl) x
     where nspname = 'app' and x.grantee = 0`,
  'grant-on-partition': `
    select p.name, g.name || ' ' || lower(p.type) from privilege p join grantee g on g.oid = p.grantee
     where p.oid in (select inhrelid from pg_inherits)`,
  'view-without-invoker': `
    select name, null from relation
     where relkind = 'v' and not coalesce((
       select option_value::boolean from pg_options_to_table(reloptions) where option_name = 'security_invoker'), false)`,
  'materialized-view': `select name, null from relation where relkind = 'm'`,
  'definer-not-listed': `
    select name, null from routine where prosecdef and name not in (select name from definer)`,
  'definer-missing': `
    select d.name, null from definer d
     where not exists (select from routine r where r.name = d.name and r.prosecdef)`,
  // pg_temp must come last, or a caller's temporary table could replace the table that the function means.
  'definer-search-path': `
    select name, array_to_string(proconfig, '; ') from routine
     where prosecdef and name <> all (${listed(QUALIFIED)})
       and not coalesce(proconfig @> array['search_path=pg_catalog, pg_temp'], false)`,
  // A body that Postgres parsed at its creation has no names to look up.
  'function-search-path': `
    select name, array_to_string(proconfig, '; ') from routine
     where nspname = 'app' and not prosecdef and prosqlbody is null
       and not coalesce(proconfig @> array['search_path=pg_catalog, pg_temp'], false)`,
  // With debug_print_plan and client_min_messages = log, a caller would read the parameters of the statements inside.
  'definer-messages': `
    select name, array_to_string(proconfig, '; ') from routine
     where prosecdef and name <> all (${listed(QUALIFIED)})
       and not coalesce(proconfig @> array['client_min_messages=warning'], false)`,
  'definer-for-public': `
    select r.name, null from routine r, aclexplode(coalesce(r.proacl, acldefault('f', r.proowner))) x
     where r.prosecdef and x.grantee = 0`,
  'definer-owner': `
    select r.name, pg_get_userbyid(r.proowner) from routine r join definer d using (name)
     where r.prosecdef and pg_get_userbyid(r.proowner) <> d.owner`,
  // Default privileges would open every future table and partition before it has its guard. Those of the owner itself open nothing.
  'default-privileges': `
    select pg_get_userbyid(d.defaclrole) || coalesce(' in ' || s.nspname, ''), array_to_string(d.defaclacl, ' ')
      from pg_default_acl d left join pg_namespace s on s.oid = d.defaclnamespace
     where exists (select from aclexplode(d.defaclacl) x where x.grantee <> d.defaclrole)`,
  // Foreign keys bypass row security: without the tenant's column, a row may point into another tenant. A key to a scope needs a
  // check that it is the row's own scope or the platform's.
  'foreign-key-without-tenant': `
    select child.name || ' ' || quote_ident(c.conname), parent.name
      from pg_constraint c
      join tenant_table child on child.oid = c.conrelid
      join tenant_table parent on parent.oid = c.confrelid
     where c.contype = 'f' and not exists (
       select from unnest(c.conkey, c.confkey) as pair(child_column, parent_column)
        where pair.child_column = child.attnum and pair.parent_column = parent.attnum
           or exists (
             select from scope_column s join scope_column own on own.attrelid = child.oid and own.attnum = pair.child_column
              where s.attrelid = parent.oid and s.attnum = pair.parent_column)
           or exists (
             select from scope_column s
               join pg_attribute a on a.attrelid = child.oid and a.attnum = pair.child_column
               join pg_constraint k on k.conrelid = child.oid and k.contype = 'c'
              where s.attrelid = parent.oid and s.attnum = pair.parent_column
                and pg_get_expr(k.conbin, k.conrelid) = format('((%1$I = ${SCOPE}) OR (%1$I = ${PLATFORM}))', a.attname)))`,
  'tenant-data-without-tenant-id': `
    select r.name || ' ' || quote_ident(c.conname), parent.name
      from pg_constraint c
      join relation r on r.oid = c.conrelid
      join tenant_table parent on parent.oid = c.confrelid
     where c.contype = 'f' and r.name <> all (${listed(ACCOUNT_TABLES)})
       and r.oid not in (select oid from tenant_table)`,
  // Unique keys bypass row security too: a violation reveals what another tenant has. A random uuid as primary key reveals
  // nothing, unless it references a row that others may know.
  'unique-across-tenants': `
    select t.name || '(' || k.columns || ')', c.relname
      from tenant_table t
      join pg_index i on i.indrelid = t.oid and (i.indisunique or i.indisexclusion)
      join pg_class c on c.oid = i.indexrelid
      cross join lateral (
        select string_agg(coalesce(a.attname, 'expression'), ', ' order by k.position) as columns,
               bool_or(k.attnum = t.attnum or exists (
                 select from scope_column s where s.attrelid = t.oid and s.attnum = k.attnum)) as with_tenant,
               bool_or(a.atttypid = 'uuid'::regtype and not exists (
                 select from pg_constraint f
                  where f.contype = 'f' and f.conrelid = t.oid and k.attnum = any (f.conkey))) as with_uuid
          from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k(attnum, position)
          left join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
      ) as k
     where not k.with_tenant and not (i.indisprimary and k.with_uuid)
       and t.name || '(' || k.columns || ')' <> all (${listed(GLOBAL_KEYS)})`,
} satisfies Record<string, string>

export type CatalogueCheck = keyof typeof CHECKS

/**
 * The checks with exceptions in the lists of catalogue-objects.ts. A release does not know the exceptions of a newer one, so it cannot judge
 * what these find in a database that is ahead of it.
 */
export const CHECKS_WITH_EXCEPTIONS: ReadonlySet<CatalogueCheck> = new Set([
  'policy-always-true',
  'policy-ignores-tenant',
  'policy-admits-other-tenants',
  'policy-admits-null-tenant',
  'definer-not-listed',
  'definer-missing',
  'definer-search-path',
  'definer-messages',
  'definer-owner',
  'foreign-key-without-tenant',
  'tenant-data-without-tenant-id',
  'unique-across-tenants',
])

export const catalogueChecks: readonly string[] = Object.keys(CHECKS)

/**
 * Searches the catalogue, in one read-only statement, for anything that lets a tenant reach another's rows. Covers every
 * table with a tenant_id. Any login may call it. Returns what it finds.
 */
export async function checkCatalogue(sql: postgres.Sql | postgres.TransactionSql): Promise<Finding[]> {
  const queries = Object.entries(CHECKS).map(
    ([check, query]) => `select '${check}', object, detail from (${query}) as found(object, detail)`,
  )
  const rows = await sql.unsafe<{ check: CatalogueCheck; object: string; detail: string | null }[]>(
    `with ${CATALOGUE} select * from (${queries.join(' union all ')}) as finding("check", object, detail) order by 1, 2, 3`,
  )
  return rows.map(({ check, object, detail }) => (detail === null ? { check, object } : { check, object, detail }))
}
