import type postgres from 'postgres'
import { readMigrations } from '#shared/db/migrate.ts'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'
import { ARGUMENT_TYPES } from '#shared/doctor/argument-types.ts'

/**
 * Compares the text of each function with its last definition in the migrations: a replaced function may have lost a check.
 * A body that Postgres parsed at its creation has no text, and then only that is compared.
 */
export async function functionBodies(tx: postgres.TransactionSql, folder: string): Promise<Diagnosis[]> {
  const files = await readMigrations(folder)
  // Each part begins with the name of a function and ends before the next definition.
  const parts = files.flatMap(({ text }) => text.split(/^create (?:or replace )?function /m).slice(1))
  const rows = await tx<{ object: string; start: string; body: string }[]>`
    select format('app.%I(%s)', p.proname, ${tx.unsafe(ARGUMENT_TYPES)}) as object, format('app.%I(', p.proname) as start,
           p.prosrc as body
      from pg_proc p where p.pronamespace = to_regnamespace('app') order by 1`
  return rows.flatMap(({ object, start, body }) => {
    const defined = parts.findLast((part) => part.startsWith(start))
    if (defined === undefined || body === (/^ *as \$\$([^]*?)\$\$;/m.exec(defined)?.[1] ?? '')) return []
    const fault = 'its body is not the one of the migrations, and may lack a check'
    return [
      { severity: 'fault', check: 'function-changed', object, fault, repair: `create ${object} as its migration does` },
    ]
  })
}
