import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { SERVICE_SCOPES, type ServiceScope } from '#shared/identity/service-key.ts'
import { expired, TICKET_BYTES, withEachByteChanged } from './forged-tickets.ts'
import {
  as,
  attempt,
  type Guarantee,
  REFUSED,
  sealedTicket,
  tenantsOf,
  heldBy,
  type FunctionGuarantees,
} from './guarantee.ts'
import { ASKING, expectStepUp, made, tenantNow, ticketOf, unset } from './gate-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

// How another service enters a tenant: as a member of tenant_bound.

const ENTER = `select app.enter(decode($1, 'hex'), $2, $3)`

/** Returns the proof of a ticket, in hex: '' for none. */
const proofOf = (sql: postgres.Sql, ticket: string) =>
  made(sql, `coalesce(encode(app.service_proof(decode($1, 'hex')), 'hex'), '')`, [ticket])

/** Enters in a savepoint, after a superuser's statements. Returns the code of the error, or the tenant. */
async function entered(
  sql: postgres.Sql,
  mode: 'read only' | 'read write',
  { proof, permission, seconds = null }: { proof: string; permission: string | null; seconds?: '60' | null },
  after: readonly string[] = [],
): Promise<string | null> {
  let outcome: string | null = ''
  await unset(sql, async () => {
    await as(sql, 'none', async () => {
      for (const statement of after) await sql.unsafe(statement)
    })
    if (mode === 'read only') await sql`set transaction read only`
    const { code } = await attempt(sql, ENTER, [proof, permission, seconds], true)
    outcome = code === '' ? await tenantNow(sql) : code
  })
  return outcome
}

/** The proof of a session. */
export const serviceProofGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 9: a proof enters the tenant of its live session, with a permission that its role holds and the step-up that it must have; no ticket is a proof, and no proof a ticket',
  holds: async (sql) => {
    assert.equal((await attempt(sql, `select app.service_proof('')`)).code, REFUSED, 'a service mints a proof')
    const ticket = await ticketOf(sql, sessions.own)
    const proof = await proofOf(sql, ticket)
    const permission = 'company.read'
    for (const mode of ['read only', 'read write'] as const) {
      const enter = (of: string, statements: string[] = []) => entered(sql, mode, { proof: of, permission }, statements)
      assert.equal(await enter(proof), own, mode)
      assert.equal(await enter(await proofOf(sql, await ticketOf(sql, sessions.other))), other, mode)
      const forged = [
        ticket,
        '',
        proof.slice(2),
        `${proof}00`,
        '00'.repeat(TICKET_BYTES),
        ...withEachByteChanged(proof),
      ]
      await unset(sql, async () => {
        if (mode === 'read only') await sql`set transaction read only`
        const outcomes = await Promise.all(forged.map((each) => attempt(sql, ENTER, [each, permission, null])))
        assert.deepEqual(new Set(outcomes.map(({ code }) => code)), new Set(['TN500']), mode)
      })
      for (const missing of ['no.such', '', '*'])
        assert.equal(await entered(sql, mode, { proof, permission: missing }), 'TN403', mode)
      const session = `where id = '${sessions.own}'`
      for (const [statement, code] of [
        [`update app.sessions set revoked_at = now() ${session}`, 'TN401'],
        [`update app.sessions set idle_expires_at = now() ${session}`, 'TN401'],
        [
          `update app.sessions set tenant_id = '${other}' ${session};
           update app.memberships m set role_id = o.role_id from app.memberships o
            where o.user_id = m.user_id and o.tenant_id = '${own}' and m.tenant_id = '${other}'`,
          'TN403',
        ],
        [`update app.memberships set revoked_at = now() where tenant_id = '${own}'`, 'TN401'],
        [
          `update app.tenants set second_factor_managers_from = now(), second_factor_everyone_from = now() where id = '${own}'`,
          'TN401',
        ],
        [`update app.memberships set role_id = 7 where tenant_id = '${own}'`, 'TN403'],
      ] as const)
        assert.equal(await enter(proof, [statement]), code, `${mode}: ${statement}`)
      assert.equal(await enter(await expired(sql, proof, 'proof_key')), 'TN401', mode)
      await expectStepUp(sql, sessions.own, async (seconds) => {
        const outcome = await entered(sql, mode, { proof, permission, seconds })
        return outcome === own ? '' : String(outcome)
      })
      const late = `update app.sessions set stepped_up_at = null ${session}`
      const missing = { proof, permission: 'no.such', seconds: '60' } as const
      assert.equal(await entered(sql, mode, missing, [late]), 'TN403', `${mode}: before the step-up`)
    }
    for (const statement of [
      `update app.users set disabled_at = now()`,
      `update app.tenants set status = 'suspended'`,
      `update app.tenants set deleted_at = now()`,
    ])
      assert.equal(await entered(sql, 'read only', { proof, permission }, [statement]), 'TN401', statement)
    assert.equal(await entered(sql, 'read only', { proof, permission: null }), own, 'a read of no permission')
    assert.equal(await entered(sql, 'read write', { proof, permission: null }), '22004', 'a write of no permission')
    assert.equal(await proofOf(sql, await ticketOf(sql, sessions.pending)), '', 'a session without a tenant')
    for (const [why, session] of sessions.dead) {
      const dead = await proofOf(sql, await sealedTicket(sql, { session }))
      assert.equal(dead, '', why)
    }
    await as(sql, 'none', async () => {
      for (const entry of ['enter_to_read(decode($1,', 'enter_to_write(decode($1,'])
        assert.equal(
          (
            await attempt(
              sql,
              `select app.${entry} 'hex')${entry.includes('write') ? `, 'company.read', false` : ''})`,
              [proof],
            )
          ).code,
          'TN500',
          entry,
        )
    })
  },
})

/** The background work of a service. */
export const serviceEntryGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 9: a service without a request enters a tenant that operators granted to its login, and audits it',
  holds: async (sql) => {
    const enter = (tenant: string) => attempt(sql, 'select app.enter_as_service($1)', [tenant], true)
    const change = (statement: string) => as(sql, 'none', () => sql.unsafe(statement))
    const grant = (role: string) =>
      // Triggers are off here, and one of them binds a grant to the role of the name.
      change(`
        insert into app.service_tenants (tenant_id, role, role_oid)
        values ('${own}', ${role}, (select oid from pg_roles where rolname = ${role}))`)
    const audited = () =>
      tenantsOf(sql, 'app.audit_log', `action = 'service.entered' and after->>'role' = session_user`, [])
    const before = (await audited()).length
    await unset(sql, async () => {
      for (const tenant of [own, other, randomUUID()]) assert.equal((await enter(tenant)).code, 'TN403')
      await grant(`'another_login'`)
      assert.equal((await enter(own)).code, 'TN403', 'granted to another login')
      await grant('session_user')
      assert.equal((await enter(own)).code, '')
      assert.equal(await tenantNow(sql), own)
      assert.deepEqual((await audited()).length, before + 1)
      for (const tenant of [other, randomUUID()]) assert.equal((await enter(tenant)).code, 'TN403')
      for (const closed of [
        `app.tenants set status = 'suspended' where id = '${own}'`,
        `app.tenants set deleted_at = now() where id = '${own}'`,
        `app.service_tenants set revoked_at = now() where tenant_id = '${own}'`,
      ])
        await unset(sql, async () => {
          await change(`update ${closed}`)
          assert.equal((await enter(own)).code, 'TN403', closed)
        })
    })
    await unset(sql, async () => {
      await grant('session_user')
      await sql`set transaction read only`
      assert.equal((await enter(own)).code, '25006', 'a transaction without an audit entry')
    })
  },
})

/** What a service with a key learns. */
export const serviceKeyGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 9: a valid key of a service with the scope tells the live session of a token hash in its tenant, or the events or memberships of all tenants; nothing else does',
  holds: async (sql) => {
    const key = randomBytes(32)
    const asked = `'billing', '\\x${key.toString('hex')}', null`
    const calls: Record<ServiceScope, string> = {
      introspect: `app.introspect(${asked}, null, null, 60, 0)`,
      changes: `app.changes(${asked}, '0', '${own}', 9)`,
      memberships: `app.memberships_of_tenants(${asked}, null, '-infinity', '${own}', 9)`,
    }
    const asSuperuser = <T>(work: () => Promise<T>) => as(sql, 'none', work)
    const add = (tenant: string, xact: string) => sql`
      insert into app.events (xact, id, tenant_id, occurred_at, action, target_type)
      values (${xact}::text::xid8, gen_random_uuid(), ${tenant}, now(), 'a.b', 'c')`
    await asSuperuser(async () => {
      await sql`
        insert into app.service_keys (name, key_hash, scopes, created_by, created_reason)
        values ('billing', ${key}, '{introspect,changes,memberships}', 'a test', 'a test')`
      await sql`delete from app.events`
      for (const tenant of [own, other]) await add(tenant, '3')
      const [current] = await sql<{ xact: string }[]>`select pg_current_xact_id()::text as xact`
      await add(own, current?.xact ?? '')
    })
    const hashOf = (session: string) =>
      asSuperuser(async () => {
        const [row] = await sql<{ hash: Buffer }[]>`select token_key as hash from app.sessions where id = ${session}`
        return row?.hash ?? randomBytes(32)
      })
    const introspect = async (session: string, name = 'billing', sent: Buffer | null = key) => {
      const hash = await hashOf(session)
      const rows = await sql<{ found: string | null }[]>`
        select session_id || coalesce(' ' || tenant_id, '') as found from app.introspect(${name}, ${sent}, null, ${hash}, null, 60, 0)`
      return rows.map(({ found }) => found)
    }
    const changes = async (name = 'billing', sent: Buffer | null = key) => {
      const rows = await sql<{ tenant_id: string }[]>`
        select tenant_id from app.changes(${name}, ${sent}, null, '0', ${own}, 9)`
      return rows.map(({ tenant_id }) => tenant_id).toSorted()
    }
    const memberships = async (tenant: string | null, name = 'billing', sent: Buffer | null = key) => {
      const rows = await sql<{ found: string | null }[]>`
        select distinct tenant_id::text as found
          from app.memberships_of_tenants(${name}, ${sent}, null, ${tenant}, '-infinity', ${own}, 100000)`
      return rows.map(({ found }) => found)
    }
    const refuses = async (why: string, name?: string, sent?: Buffer | null) => {
      assert.deepEqual(await introspect(sessions.own, name, sent), [], why)
      assert.deepEqual(await changes(name, sent), [], why)
      assert.deepEqual(await memberships(own, name, sent), [], why)
    }
    assert.deepEqual(await introspect(sessions.own), [`${sessions.own} ${own}`])
    assert.deepEqual(await introspect(sessions.other), [`${sessions.other} ${other}`])
    for (const [why, session] of [['pending', sessions.pending] as const, ...sessions.dead])
      assert.deepEqual(await introspect(session), [null], why)
    await sql`savepoint asked`
    await asSuperuser(() => sql.unsafe(ASKING, [own]))
    assert.deepEqual(await introspect(sessions.own), [null], 'without the second factor that its tenant asks for')
    await sql`rollback to savepoint asked`
    assert.deepEqual(await changes(), [own, other].toSorted(), 'without the event of a transaction that has not ended')
    assert.deepEqual(await memberships(own), [own])
    assert.deepEqual(await memberships(randomUUID()), [null], 'an unknown tenant')
    for (const each of [own, other]) assert.ok((await memberships(null)).includes(each), 'all tenants')
    for (const scope of SERVICE_SCOPES) {
      await sql`savepoint scoped`
      await asSuperuser(() => sql`update app.service_keys set scopes = array[${scope}]`)
      for (const [needed, call] of Object.entries(calls)) {
        const { code } = await attempt(sql, `select * from ${call}`)
        assert.equal(code, needed === scope ? '' : 'TN403', `${needed} with ${scope}`)
      }
      await sql`rollback to savepoint scoped`
    }
    await refuses('another name', 'shipping')
    await refuses('another key', 'billing', randomBytes(32))
    await refuses('no key', 'billing', null)
    for (const end of ['revoked_at', 'expires_at']) {
      await sql`savepoint ended`
      await asSuperuser(() => sql`update app.service_keys set ${sql(end)} = now()`)
      await refuses(end)
      await sql`rollback to savepoint ended`
    }
    const check = `app.service_of_key(${asked}, 'changes')`
    assert.equal((await attempt(sql, `select ${check}`)).code, REFUSED, check)
    await as(sql, 'identity_app', async () => {
      for (const call of [...Object.values(calls), check])
        assert.equal((await attempt(sql, `select * from ${call}`)).code, REFUSED, call)
    })
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  service_proof: (world) => heldBy('tenant_bound', serviceProofGuarantee(world)),
  enter: serviceProofGuarantee,
  enter_as_service: serviceEntryGuarantee,
  service_of_key: (world) => heldBy('identity_services', serviceKeyGuarantee(world)),
  introspect: serviceKeyGuarantee,
  changes: serviceKeyGuarantee,
  memberships_of_tenants: serviceKeyGuarantee,
}
