import { log } from '#shared/base/log.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { Outcome, QueryCommand } from './commands.ts'
import type { Instruction } from './instruction.ts'
import { NAMED_QUERIES } from './named-queries.ts'
import { findTenant } from './queries.ts'

/** Runs a statement of NAMED_QUERIES in a transaction that only reads. Logs who looks, and why. */
export function look(
  { database }: RuntimeFor<'database:operator'>,
  { name, tenant: slug }: QueryCommand,
  { operator, reason }: Instruction,
): Promise<Outcome> {
  const query = NAMED_QUERIES[name]
  log.info('an operator reads the database', { operator, reason, query: name, tenant: slug })
  return database.read(async (sql) => {
    if (slug === undefined) return { done: { rows: await query.run(sql, null) } }
    if ('ofNoTenant' in query) return { refused: `The rows of ${name} belong to no tenant. Leave out --tenant` }
    const tenant = await findTenant(sql, slug)
    if (tenant === null) return { refused: `There is no tenant ${slug}` }
    return { done: { rows: await query.run(sql, tenant.id) } }
  })
}
