import { fileURLToPath } from 'node:url'
import type postgres from 'postgres'

/** The page that says how long each row is kept. */
export const CLASSIFICATION = fileURLToPath(new URL('../data-classification.md', import.meta.url))

const MARKERS = /(?<=<!-- kept:begin -->\n).*(?=<!-- kept:end -->)/s

/** Returns the page with how long the rows of each table are kept, as their comments say. Throws for a table without that. */
export async function withPeriods(page: string, sql: postgres.Sql): Promise<string> {
  const tables = await sql<{ name: string; kept: string | null }[]>`
    select c.relname as name, substring(obj_description(c.oid, 'pg_class') from '; kept: ([^;]+)$') as kept
      from pg_class c
     where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`
  const rows = tables.map(({ name, kept }) => {
    if (kept === null)
      throw new Error(`the comment on app.${name} does not end with how long a row is kept: '; kept: …'`)
    return `| \`${name}\` | ${kept.replace(/app\.\w+/, '`$&`')} |`
  })
  if (!MARKERS.test(page)) throw new Error('infra/data-classification.md has no markers for the table of periods')
  return page.replace(MARKERS, () => `\n${['| table | how long a row is kept |', '|---|---|', ...rows].join('\n')}\n\n`)
}
