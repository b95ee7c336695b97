import assert from 'node:assert/strict'
import { as, attempt, type FunctionGuarantees, REFUSED, tenantsOf } from './guarantee.ts'

/** Returns the guarantee of a deletion that identity_worker calls. `column` is the time from which a row of the table is kept for the period. */
export const deletesAfter =
  (table: string, column: string, period: string): FunctionGuarantees[string] =>
  ({ own, other }, name) => ({
    title: `guarantee 6: ${name} deletes what is older than ${period}, in every tenant, and nothing else`,
    holds: async (sql) => {
      const call = `select app.${name}(1000)`
      const left = () => tenantsOf(sql, `app.${table}`, 'tenant_id is not null', [])
      const deleted = async (tenant: string, age: string) => {
        await as(sql, 'none', () =>
          sql.unsafe(`update app.${table} set ${column} = now() - interval '${age}' where tenant_id = $1`, [tenant]),
        )
        assert.equal((await as(sql, 'identity_worker', () => attempt(sql, call, [], true))).code, '')
        return !(await left()).includes(tenant)
      }
      assert.equal((await attempt(sql, call)).code, REFUSED)
      for (const tenant of [own, other]) assert.equal(await deleted(tenant, `${period} -1 minute`), false)
      assert.equal(await deleted(other, `${period} 1 minute`), true)
      assert.ok((await left()).includes(own))
      assert.equal(await deleted(own, `${period} 1 minute`), true)
    },
  })
