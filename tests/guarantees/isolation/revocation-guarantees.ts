import assert from 'node:assert/strict'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED } from './guarantee.ts'

const LOGINS = [...SERVICE_ROLES.map(loginName), 'tenant_bound']

/** The mark of a revocation. Which transactions are ended is tested with several connections, in tests/guarantees/races/veto.test.ts. */
export const markGuarantee = (): Guarantee => ({
  title: 'guarantee 6: no login but that of operators marks its transaction as a revocation by itself',
  holds: async (sql) => {
    const statements = [
      'select app.mark_revocation()',
      'lock table revocation.under_way in row share mode',
      'prepare marked as select from revocation.under_way for share',
    ]
    for (const role of LOGINS)
      for (const statement of statements) {
        const marks = role === 'identity_operator' && statement === statements[0]
        assert.equal(
          (await as(sql, role, () => attempt(sql, statement))).code,
          marks ? '' : REFUSED,
          `${role}: ${statement}`,
        )
      }
  },
})

export const endGuarantee = (): Guarantee => ({
  title: 'guarantee 6: nobody ends a connection that blocks no waiting revocation',
  holds: async (sql) => {
    const callers = new Set(['identity_app', 'identity_auth', 'identity_operator'])
    for (const role of LOGINS) {
      const { code, count } = await as(sql, role, () => attempt(sql, 'select * from app.end_blockers()'))
      assert.equal(code, callers.has(role) ? '' : REFUSED, role)
      assert.equal(count, 0, role)
    }
  },
})

export const FUNCTIONS: FunctionGuarantees = { mark_revocation: markGuarantee, end_blockers: endGuarantee }
