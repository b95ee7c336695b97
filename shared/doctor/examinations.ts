import type postgres from 'postgres'
import { checkCatalogue, CHECKS_WITH_EXCEPTIONS } from '#shared/doctor/catalogue.ts'
import { type Diagnosis, fault, unseen, warning } from '#shared/doctor/diagnosis.ts'
import { compareGrants, GRANTS, readGrants } from '#shared/doctor/grants.ts'
import { isAhead, readMigrations } from '#shared/db/migrate.ts'
import { remedyFor } from '#shared/doctor/remedies.ts'

type Transaction = postgres.TransactionSql

// The first minor release of each major version with the fix of CVE-2025-8713: statistics of a partition leak rows that
// its policies hide (https://www.postgresql.org/support/security/CVE-2025-8713/). PostgreSQL 16 is the oldest that can grant
// membership in a role without inheriting its privileges.
const MINIMUM_VERSIONS: Readonly<Record<number, number>> = { 16: 160010, 17: 170006 }
const OLDEST_MAJOR = 16

export async function serverVersion(tx: Transaction): Promise<Diagnosis[]> {
  const [row] = await tx<{ number: number; text: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text`
  const { number = 0, text = '' } = row ?? {}
  const major = Math.floor(number / 10_000)
  const minimum = major < OLDEST_MAJOR ? OLDEST_MAJOR * 10_000 : (MINIMUM_VERSIONS[major] ?? 0)
  if (number >= minimum) return []
  const what =
    'this version is older than 16, or its row security leaks rows (CVE-2025-8713); nothing else was examined'
  return [fault('server-version', `PostgreSQL ${text}`, what, 'upgrade to 16.10, 17.6, 18 or later')]
}

/** In a database that is ahead of this release, a check with exceptions only warns. */
export const isolation = async (tx: Transaction, { ahead }: { ahead: boolean }): Promise<Diagnosis[]> =>
  (await checkCatalogue(tx)).map((finding) => {
    const remedy = remedyFor(finding)
    const found = ahead && CHECKS_WITH_EXCEPTIONS.has(finding.check) ? warning : fault
    return found(finding.check, finding.object, remedy.fault, remedy.repair)
  })

/** For roles that do not belong to the service, a difference is a warning: another service may use this database. */
export async function grants(tx: Transaction): Promise<Diagnosis[]> {
  return compareGrants(await readGrants(tx)).flatMap(({ grantee, object, extra, missing }): Diagnosis[] => {
    const where = object.endsWith(')') ? `function ${object}` : object === 'app' ? `schema ${object}` : object
    const difference = GRANTS[grantee] === undefined ? warning : fault
    const found: Diagnosis[] = []
    if (extra.length > 0) {
      const what = `${grantee} holds ${extra.join(', ')}, which shared/doctor/grants.json does not list`
      const repair = `revoke ${extra.join(', ')} on ${where} from ${grantee};`
      found.push(difference('grant-not-listed', object, what, repair))
    }
    if (missing.length > 0) {
      const what = `${grantee} lacks ${missing.join(', ')}, which its statements need`
      found.push(difference('grant-missing', object, what, `grant ${missing.join(', ')} on ${where} to ${grantee};`))
    }
    return found
  })
}

/** Compares the applied migrations with the files. `ahead` is true when a newer release applied more. */
export async function appliedMigrations(
  tx: Transaction,
  folder: string,
): Promise<{ ahead: boolean; found: Diagnosis[] }> {
  const [table] = await tx<{ readable: boolean }[]>`
    select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as readable
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'migrations' and c.relname = 'applied'`
  const check = 'migrations'
  if (table?.readable === false) {
    const repair = 'use the login that migrates, or grant usage on the schema migrations and select on the table'
    const found = [unseen(check, 'migrations.applied', 'this login may not read the applied migrations', repair)]
    return { ahead: false, found }
  }
  const files = await readMigrations(folder)
  const applied =
    table === undefined
      ? []
      : await tx<{ name: string; checksum: string }[]>`select name, checksum from migrations.applied order by name`
  const changed = applied.flatMap(({ name, checksum }) => {
    const file = files.find((candidate) => candidate.name === name)
    if (isAhead(name, files)) {
      const what = 'a newer release applied it, so that only the isolation of the tenants was examined'
      return [warning(check, name, what, 'run the doctor of that release; nothing else, if it was rolled back')]
    }
    if (file === undefined) {
      return [fault(check, name, 'it was applied, but its file is missing', 'run the doctor of the deployed release')]
    }
    if (file.checksum === checksum) return []
    return [fault(check, name, 'its file was changed after it was applied', 'restore the file and add a new migration')]
  })
  const pending = files.filter(({ name }) => !applied.some((row) => row.name === name))
  return {
    ahead: applied.some(({ name }) => isAhead(name, files)),
    found: [...changed, ...pending.map(({ name }) => fault(check, name, 'it was not applied', 'run the migrations'))],
  }
}

export async function invalidObjects(tx: Transaction): Promise<Diagnosis[]> {
  const indexes = await tx<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'app' and not i.indisvalid and c.relkind = 'i' order by 1`
  const guards = await tx<{ name: string }[]>`
    select evtname as name from pg_event_trigger
     where evtevent = 'ddl_command_end' and evtenabled in ('O', 'A') and (evttags is null or 'CREATE TABLE' = any (evttags))`
  const found = indexes.map(({ name }) => {
    const what = 'the build of the index was interrupted: no query uses it, and a unique one enforces nothing'
    return fault('index-invalid', name, what, `reindex index concurrently ${name};`)
  })
  if (guards.length > 0) return found
  const what = 'none fires on CREATE TABLE: a partition that somebody creates by hand gets no row security'
  const repair = 'create guard_partitions as migrations/0002-tenant-guard.sql does, as a superuser'
  return [...found, warning('partition-guard', 'event trigger', what, repair)]
}

/** Checks that the coming partitions exist and that the default partitions are empty. */
export async function partitions(tx: Transaction): Promise<Diagnosis[]> {
  const parents = await tx<{ name: string; ahead: boolean }[]>`
    with bound as (
      select format('%I.%I', n.nspname, p.relname) as name,
             (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO [(]''([0-9]{4}-[0-9]{2}-[0-9]{2}[^'']*)''[)]'))[1]::timestamptz as ends
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
        join pg_class p on p.oid = i.inhparent and p.relkind = 'p'
        join pg_namespace n on n.oid = p.relnamespace and n.nspname = 'app'
    )
    select name, max(ends) >= date_trunc('month', now()) + interval '2 months' as ahead
      from bound where ends is not null group by 1 order by 1`
  const defaults = await tx<{ name: string; hidden: boolean; rows: number }[]>`
    select format('%I.%I', n.nspname, c.relname) as name, pg_stat_get_live_tuples(c.oid)::int as rows,
           not has_schema_privilege(n.oid, 'usage') or not has_table_privilege(c.oid, 'select')
             or (c.relrowsecurity and not (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)) as hidden
      from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'app'
     where c.relkind = 'r' and c.relispartition and pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT' order by 1`
  const noneAhead = 'no partition is for the next month'
  const late = parents.flatMap(({ name, ahead }) =>
    ahead ? [] : [warning('partitions-ahead', name, noneAhead, 'find out why the worker maintain does not run')],
  )
  const check = 'default-partition'
  const what = 'the default partition contains rows, because no partition was for their time'
  const repair = 'call app.create_audit_partition with their day: it moves them'
  const caught = await Promise.all(
    defaults.map(async ({ name, hidden, rows }): Promise<Diagnosis[]> => {
      if (!hidden) {
        const [row] = await tx.unsafe(`select from only ${name} limit 1`)
        return row === undefined ? [] : [warning(check, name, what, repair)]
      }
      if (rows > 0) return [warning(check, name, `${what} (about ${rows}, by the statistics)`, repair)]
      return [unseen(check, name, 'its rows are hidden from this login, and the statistics count none', AS_SUPERUSER)]
    }),
  )
  return [...late, ...caught.flat()]
}

/** Returns whether this login sees every row of a table, or null if there is no such table. */
async function seesAll(tx: Transaction, name: string, worker: boolean): Promise<boolean | null> {
  const [table] = await tx<{ visible: boolean }[]>`
    select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
             and ((${worker} and current_user = 'identity_worker')
                  or (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)) as visible
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'app' and c.relname = ${name}`
  return table?.visible ?? null
}

/** Checks what the triggers of roles keep. A copy that is filled with triggers off, such as a logical restore, lacks it. */
export async function rolePermissions(tx: Transaction): Promise<Diagnosis[]> {
  const check = 'role-permissions'
  const visible = await seesAll(tx, 'roles', false)
  if (visible === null) return []
  if (!visible) return [unseen(check, 'app.roles', 'its rows are hidden from this login', AS_SUPERUSER)]
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from app.roles r
     where r.permissions <> to_jsonb(array(select distinct p.permission collate "C" from app.role_permissions p
                                            where p.role_id in (r.id, r.based_on) order by 1))`
  if (row === undefined || row.count === 0) return []
  const what = `the session check grants ${row.count === 1 ? 'one role' : `${row.count} roles`} other permissions than app.role_permissions has`
  return [fault(check, 'app.roles', what, 'update app.roles set permissions = permissions;')]
}

export async function deadLetteredJobs(tx: Transaction): Promise<Diagnosis[]> {
  const check = 'dead-lettered-jobs'
  const visible = await seesAll(tx, 'jobs', true)
  if (visible === null) return []
  if (!visible) return [unseen(check, 'app.jobs', 'its rows are hidden from this login', AS_SUPERUSER)]
  const rows = await tx<{ kind: string; count: number }[]>`
    select kind, count(*)::int as count from app.jobs where dead_at is not null and completed_at is null group by 1 order by 1`
  return rows.map(({ kind, count }) => {
    const what = count === 1 ? 'one job is dead-lettered' : `${count} jobs are dead-lettered`
    const repair = 'read last_error, remove its cause, then set dead_at to null and attempts to 0'
    return warning(check, `app.jobs ${kind}`, what, repair)
  })
}

const AS_SUPERUSER = 'run the doctor as a superuser, or as identity_worker for the queue'
