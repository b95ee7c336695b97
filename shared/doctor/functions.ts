import { isDeepStrictEqual } from 'node:util'
import type postgres from 'postgres'
import { ARGUMENT_TYPES } from '#shared/doctor/argument-types.ts'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'
import functions from '#shared/doctor/functions.json' with { type: 'json' }

/** What the comment on a SQL function says. migrations/README.md explains the keys. */
export interface FunctionRecord {
  /** The role that it runs as, if it is SECURITY DEFINER. */
  readonly owner: string
  /** What it checks before it acts. */
  readonly proof: readonly string[]
  /** The roles with EXECUTE. */
  readonly callers: readonly string[]
  /** Why it is SECURITY DEFINER. Every other function has the rights of its caller. */
  readonly definer?: string
  /** Why it has no search_path, so that each name in it is qualified. */
  readonly qualified?: string
  /** Why its body is longer than 60 lines. */
  readonly long?: string
}

type Functions = Readonly<Record<string, FunctionRecord>>

/**
 * The functions of the migrations, by signature. `npm run grants` writes the file from their comments. The doctor judges a database by
 * this list, not by the comments that it finds there.
 */
export const FUNCTIONS: Functions = functions

/** Every function that bypasses row security. No other SECURITY DEFINER function may exist. */
export const DEFINERS: readonly (readonly [signature: string, FunctionRecord])[] = Object.entries(FUNCTIONS).filter(
  ([, { definer }]) => definer !== undefined,
)

/** Returns the name of a function, which is unique in the schema app. */
export const nameOf = (signature: string): string => signature.replaceAll(/^app\.|\(.*/g, '')

/** Reads a comment that app.give accepted. */
function recordOf(comment: string): FunctionRecord {
  const pairs = comment.split('; ').map((part): [key: string, value: string] => {
    const at = part.indexOf(': ')
    return [part.slice(0, at), part.slice(at + 2)]
  })
  const { owner = 'identity_owner', proof, callers, ...reasons } = Object.fromEntries(pairs)
  const list = (text = 'none') => (text === 'none' ? [] : text.split(', '))
  return { owner, proof: list(proof), callers: list(callers), ...reasons }
}

/** Returns what the comments in a database say. Any login may call it. */
export async function readFunctions(sql: postgres.Sql | postgres.TransactionSql): Promise<Functions> {
  const rows = await sql<{ signature: string; comment: string }[]>`
    select format('app.%I(%s)', p.proname, ${sql.unsafe(ARGUMENT_TYPES)}) as signature,
           coalesce(obj_description(p.oid, 'pg_proc'), '') as comment
      from pg_proc p where p.pronamespace = to_regnamespace('app')`
  const read = rows.map(({ signature, comment }) => [signature, recordOf(comment)] as const)
  return Object.fromEntries(read.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Compares the comments in a database with the list of this release. */
export async function functionComments(tx: postgres.TransactionSql): Promise<Diagnosis[]> {
  const found = await readFunctions(tx)
  return Object.entries(FUNCTIONS).flatMap(([object, wanted]): Diagnosis[] => {
    if (found[object] === undefined || isDeepStrictEqual(found[object], wanted)) return []
    const fault = 'its comment is not the one of the migrations, and misleads whoever reads it'
    const repair = `comment on function ${object} as its migration does`
    return [{ severity: 'warning', check: 'function-comment', object, fault, repair }]
  })
}
