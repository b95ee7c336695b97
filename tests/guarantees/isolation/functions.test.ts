import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { functionsPage } from '#infra/tools/functions-page.ts'
import { readOpenPolicies } from '#infra/tools/open-policies.ts'
import { errorCode } from '#shared/db/failure.ts'
import { DEFINERS, FUNCTIONS, readFunctions } from '#shared/doctor/functions.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { DEFINER_NAMES, GUARANTEES } from './function-guarantees.ts'

const database = await createTestDatabase()
const sql = database.admin
afterAll(() => database.drop())

/** A value of each type that nobody issued. Any other type is called with null alone. */
const INVENTED: Readonly<Record<string, string>> = {
  boolean: 'true',
  bytea: `sha256('invented')`,
  'bytea[]': `array[sha256('invented')]`,
  'double precision': '1',
  integer: '1',
  jsonb: `'[]'`,
  text: `'invented'`,
  'text[]': `array['invented']`,
  'timestamp with time zone': 'now()',
  uuid: 'gen_random_uuid()',
  xid8: `'0'`,
  'app."limit"': `(sha256('invented'), 9, 9)`,
  'app.source': `('invented', null, null)`,
}

/** Calls a function as one of its callers. Returns what is in its rows, without nulls and false, or its error. */
async function outcomeOf(signature: string, caller: string, value: (type: string) => string) {
  const types = /\((.*)\)$/.exec(signature)?.[1]?.split(', ').filter(Boolean) ?? []
  const args = types.map((type) => `${value(type)}::${type}`)
  const [routine] = await sql<{ variadic: boolean }[]>`
    select provariadic <> 0 as variadic from pg_proc where oid = ${signature}::regprocedure`
  if (routine?.variadic) args.push(`variadic ${args.pop()}`)
  const call = `${signature.replace(/\(.*/, '')}(${args.join(', ')})`
  try {
    return await sql.begin(async (tx) => {
      await tx.unsafe(`set local role ${caller}`)
      const rows = await tx.unsafe(`select * from ${call}`)
      return rows.flatMap((row) => Object.values(row)).filter((found) => ![null, false, 0, ''].includes(found))
    })
  } catch (error) {
    return errorCode(error)
  }
}

describe('the functions of the database', () => {
  test('are those of shared/doctor/functions.json', async () => {
    expect(await readFunctions(sql), 'the list is stale: run `npm run grants`').toEqual(FUNCTIONS)
  })

  test('are on the page migrations/functions.md', async () => {
    const page = fileURLToPath(new URL('../../../migrations/functions.md', import.meta.url))
    const expected = functionsPage(FUNCTIONS, await readOpenPolicies(sql))
    expect(await readFile(page, 'utf8'), 'the page is stale: run `npm run grants`').toBe(expected)
  })

  test.each(Object.entries(FUNCTIONS))('%s is callable by the callers of its comment alone', async (name, record) => {
    const found = await sql<{ role: string }[]>`
      select rolname as role from pg_roles r
       where rolname ~ '^(identity|tenant)_' and has_function_privilege(r.oid, ${name}, 'execute')
         and r.oid <> (select proowner from pg_proc where oid = ${name}::regprocedure)`
    expect(found.map(({ role }) => role).toSorted()).toEqual(record.callers.toSorted())
  })

  test.each(Object.entries(FUNCTIONS))(
    'the body of %s has at most 60 lines, or a reason for more',
    async (name, { long }) => {
      const [body] = await sql<{ lines: number }[]>`
      select cardinality(string_to_array(btrim(prosrc, chr(10)), chr(10))) as lines from pg_proc where oid = ${name}::regprocedure`
      expect((body?.lines ?? 0) > 60, `${body?.lines} lines`).toBe(long !== undefined)
    },
  )

  test('of which app.create_session alone creates sessions', async () => {
    const inserters = async (run = sql) => {
      const found = await run<{ name: string }[]>`
        select oid::regproc::text as name from pg_proc
         where prosrc ~* 'insert\\s+into\\s+("?app"?\\.)?"?sessions"?\\y' and pronamespace::regnamespace::text not in ('pg_catalog') order by 1`
      return found.map(({ name }) => name)
    }
    expect(await inserters()).toEqual(['create_session'])
    const planted = sql.begin(async (tx) => {
      await tx.unsafe(
        `create function app.planted() returns void language plpgsql as $$ begin INSERT  INTO app.sessions default values; end $$`,
      )
      expect(await inserters(tx as unknown as typeof sql)).toEqual(['create_session', 'planted'])
      throw new Error('undo')
    })
    await expect(planted).rejects.toThrow('undo')
  })

  test('have no guarantee that is left of a function that is gone', () => {
    expect(Object.keys(GUARANTEES).filter((name) => !DEFINER_NAMES.includes(name))).toEqual([])
  })
})

// A scope is not sent: the transaction has one or none.
const proven = DEFINERS.flatMap(([signature, { proof, callers }]) =>
  proof.some((each) => each !== 'scope') ? callers.map((caller) => [signature, caller] as const) : [],
)
describe('a function that wants a proof', () => {
  test.each(proven)('%s returns nothing to %s for an invented one, and for none', async (signature, caller) => {
    const invented = (type: string) => INVENTED[type] ?? 'null'
    const none = (type: string) => (/^(bytea|text|uuid)/.test(type) ? 'null' : invented(type))
    for (const value of [invented, none]) {
      const outcome = await outcomeOf(signature, caller, value)
      if (typeof outcome === 'string') expect(outcome).toMatch(/^(TN...|22...|23...)$/)
      else expect(outcome).toEqual([])
    }
  })
})
