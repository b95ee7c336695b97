import type postgres from 'postgres'
import { ACCOUNT_TABLES } from '#shared/doctor/catalogue-objects.ts'
import { ARGUMENT_TYPES } from '#shared/doctor/argument-types.ts'
import definitions from '#shared/doctor/definitions.json' with { type: 'json' }
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'

/** The major version of Postgres that printed the definitions, and a digest of each, by kind and object. */
interface Definitions {
  readonly postgres: number
  readonly objects: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The definitions that the migrations make. `npm run grants` writes the file. */
const DEFINITIONS: Definitions = definitions

/** The kinds of which a database may have no other object than the migrations make: each of them runs, or shows rows, unasked. */
const CLOSED_KINDS = new Set(['trigger', 'rule', 'policy'])

const ACCOUNTS = ACCOUNT_TABLES.map((table) => `'${table}'`).join(', ')

/**
 * Each object with its definition, as Postgres prints it. A function includes its body, its settings and its attributes; a trigger
 * includes whether it is enabled. The tenant guard's policies are no part: the catalogue checks judge them. A partition has what its parent has.
 */
const PRINTED = `
  with relation as (
    select c.oid, c.relkind, c.relispartition, format('app.%I', c.relname) as name
      from pg_class c where c.relnamespace = to_regnamespace('app'))
  select 'function' as kind, format('app.%I(%s)', p.proname, ${ARGUMENT_TYPES}) as object, pg_get_functiondef(p.oid) as text
    from pg_proc p where p.pronamespace = to_regnamespace('app') and p.prokind = 'f'
  union all
  select 'trigger', r.name || ' ' || quote_ident(t.tgname), concat_ws(chr(32), pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger t join relation r on r.oid = t.tgrelid where not t.tgisinternal and t.tgparentid = 0
  union all
  select 'rule', r.name || ' ' || quote_ident(w.rulename), pg_get_ruledef(w.oid)
    from pg_rewrite w join relation r on r.oid = w.ev_class where w.rulename <> '_RETURN'
  union all
  select 'view', r.name, pg_get_viewdef(r.oid) from relation r where r.relkind = 'v'
  union all
  select 'policy', r.name || ' ' || quote_ident(p.polname),
         concat_ws(' ', p.polcmd, p.polpermissive, (select string_agg(o.rolname, ' ' order by o.rolname) from pg_roles o where o.oid = any (p.polroles)),
                   pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    from pg_policy p join relation r on r.oid = p.polrelid where r.name in (${ACCOUNTS})
  union all
  select 'domain', format('app.%I', t.typname),
         concat_ws(' ', format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault, t.typcollation::regcollation,
                   (select string_agg(pg_get_constraintdef(c.oid), ' ' order by c.conname) from pg_constraint c where c.contypid = t.oid))
    from pg_type t where t.typnamespace = to_regnamespace('app') and t.typtype = 'd'
  union all
  select 'constraint', r.name || ' ' || quote_ident(c.conname), pg_get_constraintdef(c.oid)
    from pg_constraint c join relation r on r.oid = c.conrelid
   where not r.relispartition and c.contype in ('c', 'f', 'p', 'u', 'x')
  union all
  select 'default', r.name || '.' || quote_ident(a.attname), pg_get_expr(d.adbin, d.adrelid)
    from pg_attrdef d join relation r on r.oid = d.adrelid
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where not r.relispartition`

/** Returns the definitions in a database. Any login may call it. Requires a search_path of system schemas alone, so that each name is qualified. */
export async function readDefinitions(sql: postgres.TransactionSql): Promise<Definitions> {
  const rows = await sql.unsafe<{ kind: string; object: string; digest: string }[]>(
    `select kind, object, left(md5(text), 12) as digest from (${PRINTED}) as printed order by kind collate "C", object collate "C"`,
  )
  const [version] = await sql<{ major: number }[]>`
    select current_setting('server_version_num')::int / 10000 as major`
  const objects: Record<string, Record<string, string>> = {}
  for (const { kind, object, digest } of rows) (objects[kind] ??= {})[object] = digest
  return { postgres: version?.major ?? 0, objects }
}

/** Triggers that do not fire as those of the parent of their table do, and those of foreign keys that are disabled. */
const silentTriggers = (sql: postgres.TransactionSql) => sql<{ object: string }[]>`
  select distinct format('app.%I %I', c.relname, t.tgname) as object
    from pg_trigger t
    join pg_inherits i on i.inhparent = t.tgrelid
    join pg_class c on c.oid = i.inhrelid and c.relnamespace = to_regnamespace('app')
    left join pg_trigger own on own.tgparentid = t.oid and own.tgrelid = i.inhrelid
   where not t.tgisinternal and own.tgenabled is distinct from t.tgenabled
  union
  select format('app.%I %s', c.relname, coalesce(quote_ident(k.conname), t.tgname))
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid and c.relnamespace = to_regnamespace('app')
    left join pg_constraint k on k.oid = t.tgconstraint
   where t.tgisinternal and t.tgenabled <> 'O'
   order by 1`

/** Compares the definitions in a database with those of the migrations. */
export async function changedDefinitions(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const found = await readDefinitions(tx)
  // Another version may print the same definition in another way.
  const severity = found.postgres === DEFINITIONS.postgres ? 'fault' : 'warning'
  const kinds = new Set([...Object.keys(DEFINITIONS.objects), ...Object.keys(found.objects)])
  const diagnose = (kind: string, object: string, fault: string, repair: string): Diagnosis => {
    return { severity, check: `${kind}-changed`, object, fault, repair }
  }
  const differences = [...kinds].flatMap((kind) => {
    const wanted = DEFINITIONS.objects[kind] ?? {}
    const held = found.objects[kind] ?? {}
    return [...new Set([...Object.keys(wanted), ...Object.keys(held)])].toSorted().flatMap((object): Diagnosis[] => {
      if (wanted[object] === held[object]) return []
      // The checks of SECURITY DEFINER functions name a missing one.
      if (held[object] === undefined)
        return kind === 'function'
          ? []
          : [diagnose(kind, object, `the ${kind} of the migrations is missing`, 'create it as its migration does')]
      if (wanted[object] !== undefined)
        return [
          diagnose(
            kind,
            object,
            `the ${kind} is not the one of the migrations, and may lack a check`,
            'create it again as its migration does',
          ),
        ]
      return CLOSED_KINDS.has(kind)
        ? [diagnose(kind, object, `no migration makes this ${kind}`, 'drop it, or add it in a migration')]
        : []
    })
  })
  const silent = (await silentTriggers(tx)).map(({ object }) =>
    diagnose(
      'trigger',
      object,
      'the trigger is missing or disabled',
      'enable the trigger, and check the rows that it missed',
    ),
  )
  return [...differences, ...silent]
}
