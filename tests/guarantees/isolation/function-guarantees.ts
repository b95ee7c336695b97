import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { DEFINERS, nameOf } from '#shared/doctor/functions.ts'
import { type FunctionGuarantees, type Guarantee, heldBy } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

const RECORDS = new Map(DEFINERS.map(([signature, record]) => [nameOf(signature), record]))

/** The names of the SECURITY DEFINER functions. */
export const DEFINER_NAMES: readonly string[] = [...RECORDS.keys()]

/** The guarantees of a file. A file without FUNCTIONS has guarantees of tables or roles. */
async function guaranteesOf(file: string): Promise<FunctionGuarantees> {
  const { FUNCTIONS = {} }: { FUNCTIONS?: FunctionGuarantees } = await import(file)
  return FUNCTIONS
}

const files = (await readdir(import.meta.dirname)).filter(
  (file) => file.endsWith('-guarantees.ts') && file !== 'function-guarantees.ts',
)

/** The guarantee of each SECURITY DEFINER function: all that the files `*-guarantees.ts` beside this one export as FUNCTIONS. */
export const GUARANTEES: FunctionGuarantees = Object.assign(
  {},
  ...(await Promise.all(files.map((file) => guaranteesOf(`./${file}`)))),
)

const missing = (name: string, proof: readonly string[]): string =>
  `app.${name} bypasses row security, and no guarantee is tested. Write one in a file tests/guarantees/isolation/NOUN-guarantees.ts, ` +
  `and export it there: FUNCTIONS = { ${name}: … }. It calls the function as its callers do` +
  (proof.length === 0 ? '' : `, without ${proof.join(' and ')} and with that of another user or tenant`) +
  ', and expects no effect on what belongs to others. See "Add a function" in migrations/README.md.'

/**
 * The promise of a SECURITY DEFINER function. A function that wants a proof is called as its one caller, any other as identity_app
 * at first, which may not call it. An error of the function breaks the promise too. Requires a connection that may become any role, to see what it wrote.
 */
export function definerGuarantee(world: TwoTenants, name: string): Guarantee {
  const guarantee = GUARANTEES[name]?.(world, name)
  const { proof = [], callers = [] } = RECORDS.get(name) ?? {}
  const [caller = '', another] = callers
  const byCaller = another === undefined && proof.some((each) => each !== 'scope')
  return {
    title: guarantee?.title ?? `guarantee 6: ${name} has a guarantee`,
    holds: async (sql) => {
      if (guarantee === undefined) assert.fail(missing(name, proof))
      await (byCaller ? heldBy(caller, guarantee) : guarantee).holds(sql).catch((error: unknown) => {
        throw error instanceof assert.AssertionError
          ? error
          : new assert.AssertionError({ message: `${name}: ${String(error)}` })
      })
    },
  }
}

/** The promises of all of them. */
export const definersGuarantee = (world: TwoTenants): Guarantee => ({
  title: 'guarantee 6: every function that bypasses row security reads and writes only what belongs to its caller',
  holds: async (sql) => {
    for (const name of DEFINER_NAMES) {
      await sql`savepoint definer`
      await definerGuarantee(world, name).holds(sql)
      await sql`rollback to savepoint definer`
    }
  },
})
