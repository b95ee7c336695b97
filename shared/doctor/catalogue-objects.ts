import { loginName } from '#shared/db/role-settings.ts'
import { ARGUMENT_TYPES } from '#shared/doctor/argument-types.ts'
import { DEFINERS } from '#shared/doctor/functions.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'

/** The login roles of the service. Row security and grants limit them. */
export const LOGINS = SERVICE_ROLES.map(loginName)

/** The groups and owners, which nobody signs in as. */
export const NOLOGINS = [
  'identity_owner',
  'identity_resolver',
  'identity_gate',
  'identity_ender',
  'tenant_bound',
  'tenant_table_owner',
]

export const ROLES = [...LOGINS, ...NOLOGINS]

/**
 * The tables of people, with row security but without the tenant guard: the service finds a row by an address or a hash, before
 * it knows the tenant. Their migrations write each role's policies out.
 */
export const ACCOUNT_TABLES: readonly string[] = ['app.users', 'app.sessions', 'app.tokens']

/** A policy that shows the rows of all tenants to exactly one role, for one kind of statement. */
interface OpenPolicy {
  readonly policy: string
  readonly role: string
  readonly command: 'all' | 'select'
}

/** The worker sees every job and event. Operators see all tenants, memberships, users and sessions. No other policy may be open. */
export const OPEN_POLICIES: readonly OpenPolicy[] = [
  { policy: 'app.jobs worker_queue', role: 'identity_worker', command: 'select' },
  { policy: 'app.events worker_queue', role: 'identity_worker', command: 'select' },
  { policy: 'app.tenants operator_read', role: 'identity_operator', command: 'select' },
  { policy: 'app.memberships operator_read', role: 'identity_operator', command: 'select' },
  { policy: 'app.users operator_all', role: 'identity_operator', command: 'all' },
  { policy: 'app.sessions operator_all', role: 'identity_operator', command: 'all' },
]

/** The keys that are unique across tenants on purpose: a violation reveals that another tenant uses the value. Nobody chooses the id of a role, nor the hash of an API key. */
export const GLOBAL_KEYS: readonly string[] = [
  'app.tenants(slug)',
  'app.roles(id)',
  'app.api_keys(key_hash)',
  'app.api_keys(previous_hash)',
]

/** The functions without a search_path, because every read calls them: each name in them is qualified. */
export const QUALIFIED = DEFINERS.filter(([, { qualified }]) => qualified !== undefined).map(([signature]) => signature)

export const listed = (names: readonly string[]): string => `array[${names.map((name) => `'${name}'`).join(', ')}]`

// The scope of the platform and of a row, as Postgres writes them, in a literal.
export const PLATFORM = "''00000000-0000-0000-0000-000000000000''::uuid"
export const SCOPE = `COALESCE(tenant_id, ${PLATFORM})`

/** What the checks query: all schemas except those of the system, without objects of extensions. */
export const CATALOGUE = String.raw`
  -- The functions that may be SECURITY DEFINER, with the owner that the migrations give them.
  definer as (
    select * from (values ${DEFINERS.map(([signature, { owner }]) => `('${signature}', '${owner}')`).join(', ')}) as d(name, owner)
  ),
  service_role as (
    select oid, rolname as name from pg_roles where rolname = any (${listed(LOGINS)})
  ),
  -- The roles of other services: tenant_bound and its members. Its creator is a member that may neither inherit nor become it.
  bound_role as (
    with recursive bound(oid) as (
      select to_regrole('tenant_bound')::oid
      union
      select m.member from pg_auth_members m join bound b on b.oid = m.roleid where m.inherit_option or m.set_option)
    select r.oid, r.rolname as name from pg_roles r join bound using (oid)
  ),
  limited_role as (select * from service_role union all select * from bound_role),
  grantee as (select oid, name from limited_role union all select 0, 'PUBLIC'),
  own_schema as (
    select oid, nspname from pg_namespace where nspname <> 'information_schema' and nspname !~ '^pg_'
  ),
  relation as (
    select c.*, s.nspname, format('%I.%I', s.nspname, c.relname) as name
      from pg_class c join own_schema s on s.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'f', 'v', 'm', 'S')
       and not exists (select from pg_depend d
                        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  ),
  routine as (
    select p.*, s.nspname, format('%I.%I(%s)', s.nspname, p.proname, ${ARGUMENT_TYPES}) as name
      from pg_proc p join own_schema s on s.oid = p.pronamespace
     where not exists (select from pg_depend d
                        where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  ),
  tenant_table as (
    select r.*, a.attname, a.attnum
      from relation r
      join pg_attribute a on a.attrelid = r.oid and not a.attisdropped
       and a.attname = case r.name when 'app.tenants' then 'id' else 'tenant_id' end
     where r.relkind in ('r', 'p', 'f') and r.name <> all (${listed(ACCOUNT_TABLES)})
  ),
  -- A generated column that is the tenant, or zeros for the platform.
  scope_column as (
    select a.attrelid, a.attnum, a.attname
      from tenant_table t
      join pg_attribute a on a.attrelid = t.oid and a.attgenerated = 's'
      join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where pg_get_expr(d.adbin, d.adrelid) = '${SCOPE}'
  ),
  guarded_table as (
    select oid, name, relrowsecurity, relforcerowsecurity from tenant_table
    union all
    select oid, name, relrowsecurity, relforcerowsecurity from relation where name = any (${listed(ACCOUNT_TABLES)})
  ),
  privilege as (
    select r.oid, r.name, r.relkind, x.grantee, x.privilege_type as type
      from relation r, aclexplode(r.relacl) x
    union
    select r.oid, r.name, r.relkind, x.grantee, x.privilege_type
      from relation r join pg_attribute a on a.attrelid = r.oid and not a.attisdropped, aclexplode(a.attacl) x
  ),
  open_policy as (
    select p.oid
      from pg_policy p
      join relation r on r.oid = p.polrelid
      join (values ${OPEN_POLICIES.map(({ policy, role, command }) => `('${policy}', '${role}', '${command}')`).join(', ')}) as o(policy, role, command)
        on o.policy = r.name || ' ' || p.polname
       and p.polcmd = case o.command when 'select' then 'r' else '*' end
      join service_role s on s.name = o.role and p.polroles = array[s.oid]
  ),
  -- The permissive policies for roles of the service. TENANT stands for app.current_tenant() and OWN for the tenant's column
  -- compared with it.
  policy as (
    select p.oid, t.name || ' ' || quote_ident(p.polname) as name, p.polcmd, t.oid as table_oid, t.attnum, short.qual,
           case when p.polcmd in ('a', 'w', '*') then coalesce(short.written, short.qual) end as written
      from pg_policy p
      join tenant_table t on t.oid = p.polrelid
      cross join lateral (
        select max(text) filter (where part = 'qual') as qual, max(text) filter (where part = 'written') as written
          from (values ('qual', pg_get_expr(p.polqual, p.polrelid)),
                       ('written', pg_get_expr(p.polwithcheck, p.polrelid))) as e(part, expression),
               lateral (select regexp_replace(expression,
                 '\( SELECT (app\.)?current_tenant\(\) AS current_tenant\)|(app\.)?current_tenant\(\)',
                 'TENANT', 'g')) as a(known),
               lateral (select replace(known, format('(%I = TENANT)', t.attname), 'OWN')) as b(own),
               lateral (select case when p.polcmd <> 'r' then own else replace(own,
                 format('(OWN OR ((%I IS NULL) AND (TENANT IS NOT NULL)))', t.attname), 'OWN') end) as c(text)
      ) as short
     where p.polpermissive and p.oid not in (select oid from open_policy)
       and exists (select from unnest(p.polroles) as role(oid) join grantee g using (oid))
  )`
