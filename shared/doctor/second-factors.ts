import type postgres from 'postgres'
import { type Diagnosis, fault, unseen, warning } from '#shared/doctor/diagnosis.ts'

/** Checks that no session goes around a second factor, and that one factor key seals all of them. */
export async function secondFactors(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  return [...(await sessionInserters(tx)), ...(await storedFactors(tx))]
}

/** One function creates sessions, so that no way to sign in leaves out the second factor. */
async function sessionInserters(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const found = await tx<{ name: string }[]>`
    select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname not in ('pg_catalog', 'information_schema')
       and p.prosrc ~* case when n.nspname = 'app' then 'insert\\s+into\\s+("?app"?\\.)?"?sessions"?\\y'
                            else 'insert\\s+into\\s+"?app"?\\."?sessions"?\\y' end
       and not (n.nspname = 'app' and p.proname = 'create_session')
     order by 1`
  const what = 'it creates sessions, and may leave out the second factor of a user: app.create_session alone may'
  return found.map(({ name }) => fault('session-inserter', name, what, `drop function ${name};`))
}

async function storedFactors(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const [table] = await tx<{ visible: boolean }[]>`
    select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
             and (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as visible
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'app' and c.relname = 'factors'`
  if (table === undefined) return []
  if (!table.visible)
    return [
      unseen('second-factors', 'app.factors', 'its rows are hidden from this login', 'run the doctor as a superuser'),
    ]
  const [row] = await tx<{ sessions: number; keys: number }[]>`
    select (select count(*)::int from app.sessions s
             where s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now() and s.second_factor_at is null
               and exists (select from app.factors f where f.user_id = s.user_id)) as sessions,
           (select count(distinct f.key_id)::int from app.factors f) as keys`
  const { sessions = 0, keys = 0 } = row ?? {}
  const ended =
    "update app.sessions s set revoked_at = now() from app.factors f where f.user_id = s.user_id and coalesce(s.second_factor_at, s.revoked_at, 'infinity') = 'infinity';"
  const live = `${sessions === 1 ? 'a live session' : `${sessions} live sessions`} of users with a second factor did not prove it`
  return [
    ...(sessions > 0 ? [fault('second-factor-left-out', 'app.sessions', live, ended)] : []),
    ...(keys > 1
      ? [
          warning(
            'factor-keys',
            'app.factors',
            `${keys} factor keys seal the second factors`,
            'npm run operate -- reseal-factors',
          ),
        ]
      : []),
  ]
}
