import type postgres from 'postgres'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { loginName, ROLE_SETTINGS } from '#shared/db/role-settings.ts'
import { type Diagnosis, fault, warning } from '#shared/doctor/diagnosis.ts'

type Transaction = postgres.TransactionSql

// Not every client knows how to send an array.
const LOGINS = SERVICE_ROLES.map(loginName).join()

/** The defaults of the service's roles, which each role may change for itself, and what it may create in the database. */
export async function roleSettings(tx: Transaction): Promise<Diagnosis[]> {
  const rows = await tx<{ role: string; database: string | null; name: string; value: string }[]>`
    select r.rolname as role, d.datname as database, split_part(config, '=', 1) as name,
           substr(config, strpos(config, '=') + 1) as value
      from pg_db_role_setting s
      join pg_roles r on r.oid = s.setrole and r.rolname = any (string_to_array(${LOGINS}, ','))
      left join pg_database d on d.oid = s.setdatabase
      cross join unnest(s.setconfig) as config
     where s.setdatabase = 0 or d.datname = current_database()`
  const existing = await tx<{ role: string }[]>`
    select rolname as role from pg_roles where rolname = any (string_to_array(${LOGINS}, ','))`
  return SERVICE_ROLES.flatMap((name) => {
    const role = loginName(name)
    if (!existing.some((row) => row.role === role)) return []
    const wanted = ROLE_SETTINGS[name]
    const held = rows.filter((row) => row.role === role)
    const missing = Object.entries(wanted).flatMap(([setting, value]) =>
      held.some((row) => row.database === null && row.name === setting && row.value === value)
        ? []
        : [
            fault(
              'role-setting',
              role,
              `${setting} is not ${value}`,
              `alter role ${role} set ${setting} = ${setting === 'search_path' ? value : `'${value}'`};`,
            ),
          ],
    )
    const extra = held.flatMap(({ database, name: setting, value }) => {
      if (database === null && setting in wanted) return []
      const where = database === null ? '' : ` in database "${database}"`
      const what = `${setting} is ${value}${where}, which no migration sets`
      return [fault('role-setting', role, what, `alter role ${role}${where} reset ${setting};`)]
    })
    return missing.concat(extra)
  })
}

// A transaction of a service holds locks that a revocation waits for.
const TIMEOUTS = {
  statement_timeout: '2s',
  lock_timeout: '1500ms',
  idle_in_transaction_session_timeout: '10s',
  transaction_timeout: '1s',
}

/** Lists the logins of other services that may become tenant_bound: what they do then ignores the settings of the login. */
export async function serviceSetOption(tx: Transaction): Promise<Diagnosis[]> {
  const rows = await tx<{ role: string }[]>`
    select r.rolname as role from pg_auth_members m join pg_roles r on r.oid = m.member and r.rolcanlogin and m.inherit_option and m.set_option
     where m.roleid = to_regrole('tenant_bound') order by 1`
  return rows.map(({ role }) =>
    warning(
      'service-set-option',
      role,
      'it may become tenant_bound',
      `grant tenant_bound to ${role} with inherit true, set false;`,
    ),
  )
}

/** Without this privilege of the owner of app.end_blockers, a transaction that nobody ends keeps a revocation waiting. */
export async function revocationPower(tx: Transaction): Promise<Diagnosis[]> {
  const [row] = await tx<{ ends: boolean }[]>`
    select coalesce(pg_has_role(to_regrole('identity_ender'), 'pg_signal_backend', 'usage'), false) as ends`
  if (row?.ends === true) return []
  const what = 'it lacks pg_signal_backend, so a transaction that nobody ends keeps a revocation waiting'
  return [
    warning(
      'revocation-power',
      'identity_ender',
      what,
      'grant pg_signal_backend to identity_ender with inherit true, set false;',
    ),
  ]
}

/** Lists the logins of other services whose transactions may last for ever. */
export async function serviceTimeouts(tx: Transaction): Promise<Diagnosis[]> {
  const rows = await tx<{ role: string; setting: keyof typeof TIMEOUTS }[]>`
    select r.rolname as role, wanted.setting
      from pg_auth_members m
      join pg_roles r on r.oid = m.member and r.rolcanlogin and (m.inherit_option or m.set_option)
      cross join unnest(string_to_array(${Object.keys(TIMEOUTS).join()}, ',')) as wanted(setting)
     where m.roleid = to_regrole('tenant_bound') and not exists (
       select from pg_db_role_setting s, unnest(s.setconfig) as config
        where s.setrole = r.oid and config ~ ('^' || wanted.setting || '=') and config !~ '=0[a-z]*$')
     order by 1, 2`
  return rows.map(({ role, setting }) => {
    const repair = `alter role ${role} set ${setting} = '${TIMEOUTS[setting]}';`
    return warning('service-timeout', role, `it has no ${setting}, so a revocation may wait for its locks`, repair)
  })
}

/** A temporary type or table of one caller is found before others of its name, also by the next caller of the connection. */
export async function databasePrivileges(tx: Transaction): Promise<Diagnosis[]> {
  const rows = await tx<{ database: string; grantee: string; privilege: string }[]>`
    select format('%I', d.datname) as database, lower(x.privilege_type) as privilege,
           case x.grantee when 0 then 'public' else pg_get_userbyid(x.grantee) end as grantee
      from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x
     where d.datname = current_database() and x.privilege_type in ('TEMPORARY', 'CREATE')
       and (x.grantee = 0 or pg_get_userbyid(x.grantee) = any (string_to_array(${LOGINS}, ',')))
     order by 1, 2, 3`
  return rows.map(({ database, grantee, privilege }) => {
    const what = `${grantee} holds ${privilege.toUpperCase()}, and may plant objects that other callers find first`
    return fault('database-privilege', database, what, `revoke ${privilege} on database ${database} from ${grantee};`)
  })
}

/** Lists the logins with more power than the service's roles. Keep them few and known. */
export async function powerfulLogins(tx: Transaction): Promise<Diagnosis[]> {
  const rows = await tx<{ role: string; power: string; repair: string }[]>`
    -- 10 is the login that initdb creates (BOOTSTRAP_SUPERUSERID). rdsadmin is Amazon's own.
    with login as (select * from pg_roles where rolcanlogin and oid <> 10 and rolname <> 'rdsadmin'),
    -- The login that migrates owns this schema. It must be able to SET ROLE to identity_owner.
    migrator as (select nspowner as oid from pg_namespace where nspname = 'migrations')
    select rolname as role, 'a superuser that may log in: no row security binds it' as power,
           format('alter role %I nosuperuser;', rolname) as repair
      from login where rolsuper
    union all
    select rolname, 'a login with BYPASSRLS: no row security binds it', format('alter role %I nobypassrls;', rolname)
      from login where rolbypassrls and not rolsuper and rolname !~ '^identity_'
    union all
    select l.rolname, format('a role that is a member of %s, and may act as it', g.rolname), format('revoke %I from %I;', g.rolname, l.rolname)
      from pg_auth_members m
      join pg_roles l on l.oid = m.member
      join pg_roles g on g.oid = m.roleid
     where g.rolname ~ '^identity_'
       and (m.set_option or m.inherit_option) and l.rolname !~ '^identity_'
       and not (g.rolname = 'identity_owner' and l.oid in (select oid from migrator))
     order by 1, 2`
  return rows.map(({ role, power, repair }) => warning('powerful-login', role, power, repair))
}
