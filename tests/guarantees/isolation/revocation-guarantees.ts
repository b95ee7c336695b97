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

/** app.end_connections. The process 1 is no connection, so that none ends. What it ends is tested in tests/infra/tools/operate-repairs.test.ts. */
export const endConnectionsGuarantee = (): Guarantee => ({
  title: 'guarantee 6: operators alone end connections, and only those of a login of a service',
  holds: async (sql) => {
    const end = (role: string, login: string) =>
      as(sql, role, () => attempt(sql, `select * from app.end_connections($1, 1, 'a test')`, [login]))
    for (const role of LOGINS)
      assert.equal((await end(role, 'identity_app')).code, role === 'identity_operator' ? '' : REFUSED, role)
    await as(sql, 'none', () =>
      sql.unsafe(`
        create role of_a_service login in role tenant_bound; create role of_nobody login;
        create role of_the_owner login in role tenant_bound; grant identity_owner to of_the_owner`),
    )
    const ends = async (login: string) => [login, (await end('identity_operator', login)).code]
    const logins = [...LOGINS.filter((login) => login !== 'tenant_bound'), 'of_a_service']
    assert.deepEqual(
      await Promise.all(logins.map(ends)),
      logins.map((login) => [login, '']),
    )
    const others = [
      'of_nobody',
      'of_the_owner',
      'postgres',
      'tenant_bound',
      'identity_owner',
      'identity_gate',
      'missing',
    ]
    assert.deepEqual(
      await Promise.all(others.map(ends)),
      others.map((login) => [login, '22023']),
    )
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  mark_revocation: markGuarantee,
  end_blockers: endGuarantee,
  end_connections: endConnectionsGuarantee,
}
