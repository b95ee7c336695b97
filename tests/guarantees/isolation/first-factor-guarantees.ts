import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { hex, type Owned, ownGuarantee, SOURCE, twoOwners } from './factor-guarantees.ts'
import { as, type FunctionGuarantees, type Guarantee, sealedTicket } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** Adds a first factor by a draft and the hash of a setup code. Returns why not. */
type AddFirst = (draft: string, setup: string) => Promise<string | null | undefined>

/** The first factor needs a setup code of its user, which serves once, and a draft of theirs. */
export async function needsSetupCode(
  sql: postgres.Sql,
  [own, other]: readonly [own: Owned, other: Owned],
  add: AddFirst,
): Promise<void> {
  const noFactor = () => as(sql, 'none', () => sql`delete from app.factors where user_id = ${own.user}`)
  await noFactor()
  for (const [user, code] of [
    [own.user, 'setup'],
    [other.user, 'of another'],
  ] as const)
    await as(
      sql,
      'none',
      () => sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (sha256(${code}::text::bytea), 'factor_setup', ${user}, now() + interval '1 minute')`,
    )
  const mailed = `sha256('setup')`
  assert.equal(await add(own.draft, 'null'), 'no-setup-code')
  assert.equal(await add(own.draft, `sha256('of another')`), 'setup-code')
  assert.equal(await add(own.draft, hex(own.code)), 'setup-code', 'a recovery code')
  await sql`savepoint drafted`
  assert.equal(await add(other.draft, mailed), 'draft')
  await sql`rollback to savepoint drafted`
  assert.equal(await add(own.draft, mailed), null)
  await noFactor()
  assert.equal(await add(own.draft, mailed), 'setup-code', 'once')
}

/** An app as the first factor. */
const addAppGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds to the ticket's user alone, with a setup code and a draft of theirs if it is the first factor`,
  holds: async (sql) => {
    await sql`savepoint of_one`
    await ownGuarantee(world, name).holds(sql)
    await sql`rollback to savepoint of_one`
    const owners = await twoOwners(sql, world)
    const ticket = await sealedTicket(sql, { user: owners[0].user, session: world.sessions.own })
    await needsSetupCode(sql, owners, async (draft, setup) => {
      const [row] = await sql.unsafe<{ refused_by: string | null }[]>(
        `select * from app.add_app(decode($1, 'hex'), '${draft}', '${randomUUID()}', sha256('x'), '${randomUUID()}', sha256('w'), 1, '', ${setup}, null, ${hex(randomBytes(32))}, 60, 3600, ${SOURCE})`,
        [ticket],
      )
      return row?.refused_by
    })
  },
})

export const FUNCTIONS: FunctionGuarantees = { add_app: addAppGuarantee }
