import type postgres from 'postgres'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'

/** The settings that switch a guard off, with the value that leaves it on. Not every version has each. */
const SETTINGS: Readonly<Record<string, string>> = {
  row_security: 'on',
  session_replication_role: 'origin',
  event_triggers: 'on',
  ignore_system_indexes: 'off',
}

/** What the server, the database or this login sets against the guards. */
export async function guardSettings(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const rows = await tx<{ place: string; name: string; value: string }[]>`
    select case s.setdatabase when 0 then 'all databases' else 'the database' end as place, split_part(config, '=', 1) as name,
           substr(config, strpos(config, '=') + 1) as value
      from pg_db_role_setting s cross join unnest(s.setconfig) as config
     where s.setrole = 0 and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
    union all
    select 'this session', s.name, s.setting from pg_settings s`
  return rows
    .filter(({ name, value }) => SETTINGS[name] !== undefined && SETTINGS[name] !== value)
    .map(({ place, name, value }) => ({
      severity: 'fault',
      check: 'guard-setting',
      object: name,
      fault: `${name} is ${value} for ${place}, so a guard does not work`,
      repair: `reset ${name} where it is set: alter database, alter role, alter system, or the options of the connection`,
    }))
}

/** Functions of the owner would be open to every role as soon as they are created. */
export async function closedFunctions(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const [row] = await tx<{ closed: boolean }[]>`
    select exists (
      select from pg_default_acl d
       where d.defaclrole = to_regrole('identity_owner') and d.defaclnamespace = 0 and d.defaclobjtype = 'f'
         and not exists (select from aclexplode(d.defaclacl) x where x.grantee = 0)) as closed`
  if (row?.closed === true) return []
  return [
    {
      severity: 'fault',
      check: 'functions-open',
      object: 'identity_owner',
      fault: 'every role may call a function that it creates, until somebody revokes it',
      repair: 'alter default privileges for role identity_owner revoke execute on functions from public;',
    },
  ]
}

/** A key that somebody wrote by hand seals nothing: whoever guesses it enters any tenant. */
export async function weakSeal(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const check = 'seal-weak'
  const [table] = await tx<{ visible: boolean }[]>`
    select has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, 'select') as visible
      from pg_class c where c.relnamespace = to_regnamespace('app') and c.relname = 'seal'`
  if (table === undefined) return []
  const unseen = { check, object: 'app.seal', repair: 'run the doctor as a superuser' }
  if (!table.visible) return [{ ...unseen, severity: 'unseen', fault: 'its keys are hidden from this login' }]
  const rows = await tx<{ name: string }[]>`
    select k.name
      from (values ('scope_key'), ('ticket_key'), ('proof_key'), ('salt_key')) as k(name)
      left join app.seal s on true
      left join lateral (values ('scope_key', s.scope_key), ('ticket_key', s.ticket_key), ('proof_key', s.proof_key),
                                ('salt_key', s.salt_key)) as v(name, key) on v.name = k.name
      left join lateral (
        select count(distinct get_byte(v.key, place)) as bytes from generate_series(0, length(v.key) - 1) as place) b on true
     where coalesce(b.bytes, 0) < 16
        or 1 < (select count(*) from (values (s.scope_key), (s.ticket_key), (s.proof_key), (s.salt_key)) as o(key) where o.key = v.key)
     order by 1`
  return rows.map(({ name }) => ({
    severity: 'fault',
    check,
    object: `app.seal.${name}`,
    fault: 'the key has fewer than 16 different bytes, or is also another key, so somebody can guess what it seals',
    repair:
      name === 'salt_key'
        ? 'update app.seal set salt_key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());'
        : 'select app.renew_seal();',
  }))
}
