import type postgres from 'postgres'
import { ARGUMENT_TYPES } from '#shared/doctor/argument-types.ts'
import grants from '#shared/doctor/grants.json' with { type: 'json' }

/** Privileges by grantee, then by object. A privilege on columns names them: `insert (id, email)`. */
type Grants = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/**
 * The privileges that the migrations grant in the schemas app and revocation. `npm run grants` writes the file. A privilege in a database
 * that is not in the file is a fault.
 */
export const GRANTS: Grants = grants

/** Returns what the database grants. Any login may call it. */
export async function readGrants(sql: postgres.Sql | postgres.TransactionSql): Promise<Grants> {
  const rows = await sql<{ grantee: string; object: string; privileges: string[] }[]>`
    with grant_on as (
      select x.grantee, c.relowner as owner, format('%s.%I', c.relnamespace::regnamespace, c.relname) as object, x.privilege_type as type, null as columns
        from pg_class c, aclexplode(c.relacl) x
       where c.relnamespace in (to_regnamespace('app'), to_regnamespace('revocation'))
      union all
      select x.grantee, c.relowner, format('%s.%I', c.relnamespace::regnamespace, c.relname), x.privilege_type, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
        from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
       where c.relnamespace in (to_regnamespace('app'), to_regnamespace('revocation'))
       group by 1, 2, 3, 4
      union all
      select x.grantee, p.proowner, format('%s.%I(%s)', p.pronamespace::regnamespace, p.proname, ${sql.unsafe(ARGUMENT_TYPES)}), x.privilege_type, null
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
       where p.pronamespace in (to_regnamespace('app'), to_regnamespace('revocation'))
      union all
      select x.grantee, n.nspowner, n.nspname, x.privilege_type, null
        from pg_namespace n, aclexplode(n.nspacl) x
       where n.nspname in ('app', 'revocation')
    )
    select case grantee when 0 then 'public' else pg_get_userbyid(grantee) end as grantee, object,
           json_agg(lower(type) || coalesce(' (' || columns || ')', '') order by type collate "C") as privileges
      from grant_on where grantee <> owner
     group by 1, 2 order by 1, 2`
  const found: Record<string, Record<string, string[]>> = {}
  for (const { grantee, object, privileges } of rows) (found[grantee] ??= {})[object] = privileges
  return found
}

/** Splits `insert (a, b)` into `insert (a)` and `insert (b)`. */
const byColumn = (privileges: readonly string[] = []): string[] =>
  privileges.flatMap((privilege) => {
    const [, type, columns] = /^(\w+) [(](.*)[)]$/.exec(privilege) ?? []
    return columns === undefined ? [privilege] : columns.split(', ').map((column) => `${type} (${column})`)
  })

/**
 * Returns where the privileges in a database differ from GRANTS: what a grantee holds beyond the file (`extra`), and lacks of
 * it (`missing`). The catalogue checks cover those of PUBLIC.
 */
export function compareGrants(actual: Grants) {
  return [...new Set([...Object.keys(GRANTS), ...Object.keys(actual)])]
    .filter((grantee) => grantee !== 'public')
    .flatMap((grantee) => {
      const wanted = GRANTS[grantee] ?? {}
      const held = actual[grantee] ?? {}
      return [...new Set([...Object.keys(wanted), ...Object.keys(held)])].map((object) => {
        const listed = byColumn(wanted[object])
        const granted = byColumn(held[object])
        const extra = granted.filter((privilege) => !listed.includes(privilege))
        const missing = listed.filter((privilege) => !granted.includes(privilege))
        return { grantee, object, extra, missing }
      })
    })
    .filter(({ extra, missing }) => extra.length + missing.length > 0)
}
