import assert from 'node:assert/strict'
import { deletesAfter } from '#tests/guarantees/isolation/deletes-after.ts'
import {
  as,
  attempt,
  type FunctionGuarantees,
  type Guarantee,
  sealedTicket,
} from '#tests/guarantees/isolation/guarantee.ts'
import type { TwoTenants } from '#tests/guarantees/isolation/two-tenants.ts'

/** A function that takes a ticket, called with tickets of live sessions and of other ids. */
const readGuarantee = ({ own, sessions }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} returns the tags of the tenants of a live session's user, and nothing for any other session`,
  holds: async (sql) => {
    const call = `select name from app.${name}(decode($1, 'hex')) order by name`
    const namesFor = async (session: string) => {
      const rows = await sql.unsafe<{ name: string }[]>(call, [await sealedTicket(sql, { session })])
      return rows.map((row) => row.name)
    }
    await as(sql, 'none', () => sql`update app.tags set name = case tenant_id when ${own} then 'own' else 'other' end`)
    assert.equal((await attempt(sql, call, ['00'])).code, 'TN500', 'no ticket')
    for (const [why, id] of sessions.dead) assert.deepEqual(await namesFor(id), [], `the id is ${why}`)
    assert.deepEqual(await namesFor(sessions.single), ['own'])
    assert.deepEqual(await namesFor(sessions.pending), ['other', 'own'])
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  tags_of_user: readGuarantee,
  delete_old_tags: deletesAfter('tags', 'created_at', '400 days'),
}
