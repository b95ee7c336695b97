import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { as, attempt, type FunctionGuarantees, type Guarantee, sealedTicket } from './guarantee.ts'
import { made, tenantNow, ticketOf, unset } from './gate-guarantees.ts'
import { type Lease, lease } from './mail-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

const SOURCE = `row('r', null, null)::app.source`
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const KEY = hashOf('the key')
const BEFORE = hashOf('the key before it')
const OTHERS = hashOf('the key of the other tenant')

const change = (sql: postgres.Sql, statement: string) => as(sql, 'none', () => sql.unsafe(statement))

/** Makes a live key in each tenant, with one permission. Returns the id of the own one. */
async function plant(sql: postgres.Sql, { own, other }: TwoTenants): Promise<string> {
  const id = randomUUID()
  await change(
    sql,
    `insert into app.api_keys (id, tenant_id, name, key_hash, hint, generation, previous_hash, previous_expires_at, created_by, expires_at)
     values ('${id}', '${own}', 'Own', '\\x${KEY}', 'abcd', 1, '\\x${BEFORE}', now() + interval '1 hour', gen_random_uuid(), now() + interval '1 day'),
            (gen_random_uuid(), '${other}', 'Other', '\\x${OTHERS}', 'abcd', 0, null, null, gen_random_uuid(), now() + interval '1 day');
     insert into app.api_key_permissions values ('${own}', '${id}', 'deal.read');
     update app.tenants set status = 'active', deleted_at = null;
     update app.memberships set role_id = 1`,
  )
  return id
}

const CHECK = `app.authenticate_key(decode($1, 'hex'), null, null)`

/** Who a hash is of: the tenant and the permissions, or ''. */
const found = (sql: postgres.Sql, hash: string) =>
  made(sql, `(select tenant_id || ' ' || permissions from ${CHECK})`, [hash])

const ticketOfKey = (sql: postgres.Sql, hash: string) =>
  made(sql, `(select encode(ticket, 'hex') from ${CHECK})`, [hash])

const ENDED = [
  [`update app.api_keys set revoked_at = now() where tenant_id = '{own}'`, 'every'],
  [`update app.api_keys set expires_at = now() - interval '1 second' where tenant_id = '{own}'`, 'every'],
  [`update app.tenants set status = 'suspended' where id = '{own}'`, 'every'],
  [`update app.tenants set status = 'cancelled' where id = '{own}'`, 'every'],
  [`update app.tenants set deleted_at = now() where id = '{own}'`, 'every'],
  [`update app.api_keys set previous_expires_at = now() - interval '1 second' where tenant_id = '{own}'`, 'previous'],
] as const

const authenticateGuarantee = (world: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a key is found by its hash alone, and enters its open tenant with its own permissions while it is live: neither the check nor a later write takes one that ended',
  holds: async (sql) => {
    const { own, other } = world
    await sql`savepoint keys`
    await plant(sql, world)
    for (const [hash, tenant] of [
      [KEY, own],
      [BEFORE, own],
      [OTHERS, other],
    ] as const) {
      const expected = tenant === own ? `${own} ["deal.read"]` : `${other} []`
      assert.equal(await found(sql, hash), expected)
    }
    assert.equal(await found(sql, hashOf('no key')), '')
    const tickets = { current: await ticketOfKey(sql, KEY), previous: await ticketOfKey(sql, BEFORE) }
    const enter = async (
      ticket: string,
      [permission, stepUp]: [string | null, number | null] = ['deal.read', null],
    ) => {
      let outcome = ''
      await unset(sql, async () => {
        const call = `select app.enter_to_write(decode($1, 'hex'), $2, false, ${stepUp ?? 'null'})`
        const { code } = await attempt(sql, call, [ticket, permission], true)
        outcome = code === '' ? String(await tenantNow(sql)) : code
      })
      return outcome
    }
    for (const ticket of Object.values(tickets)) {
      assert.equal(await enter(ticket), own)
      for (const permission of ['deal.write', 'member.manage', '*', '', null])
        assert.equal(await enter(ticket, [permission, null]), 'TN403', String(permission))
      assert.equal(await enter(ticket, ['deal.read', 600]), 'TN403', 'a key never steps up')
    }
    for (const [statement, generations] of ENDED) {
      await sql`savepoint ended`
      await change(sql, statement.replaceAll('{own}', own))
      const expected = generations === 'every' ? '' : `${own} ["deal.read"]`
      assert.equal(await found(sql, KEY), expected, statement)
      assert.equal(await found(sql, BEFORE), '', statement)
      assert.equal(await enter(tickets.current), generations === 'every' ? 'TN401' : own, statement)
      assert.equal(await enter(tickets.previous), 'TN401', statement)
      await sql`rollback to savepoint ended`
    }
    const limited = `(select coalesce(retry_after_seconds, 0)::text from app.authenticate_key(decode($1, 'hex'), null, 1))`
    assert.equal(await made(sql, limited, [KEY]), '0')
    assert.ok(Number(await made(sql, limited, [KEY])) > 0, 'over the limit')
    await sql`rollback to savepoint keys`
  },
})

const ARGUMENTS: Readonly<Record<string, (key: string) => string>> = {
  rename_api_key: (key) => `'${key}', 'A name of the guarantee', ${SOURCE}`,
  rotate_api_key: (key) => `'${key}', sha256('new'), 'wxyz', 60, null, 86400, ${SOURCE}`,
  revoke_api_key: (key) => `'${key}', ${SOURCE}`,
}

const CHANGED = `(name = 'A name of the guarantee' or key_hash = sha256('new') or revoked_at is not null)`

/** A function that changes a key by its id, for whoever manages members. */
const managedGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} changes a key of the tenant of a ticket, for a live session that manages members, and no other key`,
  holds: async (sql) => {
    const { own, other, sessions } = world
    await sql`savepoint keys`
    const id = await plant(sql, world)
    const others = await made(sql, `(select id from app.api_keys where key_hash = decode($1, 'hex'))`, [OTHERS])
    const call = (key: string) => `select app.${name}(decode($1, 'hex'), ${ARGUMENTS[name]?.(key) ?? ''})`
    const changed = () =>
      made(sql, `(select count(*)::text from app.api_keys where ${CHANGED} and tenant_id = $1)`, [own])
    const changedElsewhere = () =>
      made(sql, `(select count(*)::text from app.api_keys where ${CHANGED} and tenant_id = $1)`, [other])
    const [before, elsewhere] = [Number(await changed()), await changedElsewhere()]
    assert.equal((await attempt(sql, call(id), ['00'])).code, 'TN500', 'no ticket')
    assert.equal((await attempt(sql, call(id), [await ticketOfKey(sql, KEY)])).code, 'TN500', 'the ticket of a key')
    for (const [why, session] of sessions.dead)
      assert.notEqual((await attempt(sql, call(id), [await sealedTicket(sql, { session })])).code, '', why)
    const ticket = await ticketOf(sql, sessions.own)
    await sql`savepoint roles`
    await change(sql, `update app.memberships set role_id = 7 where tenant_id = '${own}'`)
    assert.equal((await attempt(sql, call(id), [await ticketOf(sql, sessions.own)])).code, 'TN403', 'a viewer')
    await sql`rollback to savepoint roles`
    await attempt(sql, call(others), [ticket], true)
    assert.equal(await changedElsewhere(), elsewhere, 'a key of another tenant')
    assert.equal(Number(await changed()), before)
    assert.equal((await attempt(sql, call(id), [ticket], true)).code, '')
    assert.equal(Number(await changed()), before + 1)
    assert.equal(await changedElsewhere(), elsewhere)
    await sql`rollback to savepoint keys`
  },
})

const createGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: create_api_key makes a key of the tenant of a ticket with permissions that its user holds and keys may hold, for a live session that manages members',
  holds: async (sql) => {
    await sql`savepoint keys`
    await change(sql, `update app.memberships set role_id = 1`)
    const call = (permissions: string) =>
      `select app.create_api_key(decode($1, 'hex'), 'New', '${permissions}', sha256('created'), 'wxyz', null, 7200, 86400, 1000000, ${SOURCE})`
    const storedIn = (tenant: string) =>
      made(
        sql,
        `(select count(*)::text from app.api_keys k join app.api_key_permissions p on p.api_key_id = k.id
           where k.key_hash = sha256('created') and k.tenant_id = $1)`,
        [tenant],
      )
    const tries = async (ticket: string, permissions: string): Promise<[string, string]> => {
      await sql`savepoint tried`
      const { code } = await attempt(sql, call(permissions), [ticket], true)
      const count = await storedIn(own)
      await sql`rollback to savepoint tried`
      return [code, count]
    }
    const given = '["deal.read", "design.read"]'
    assert.deepEqual(await tries('00', given), ['TN500', '0'])
    for (const [why, session] of sessions.dead)
      assert.notEqual((await tries(await sealedTicket(sql, { session }), given))[0], '', why)
    const ticket = await ticketOf(sql, sessions.own)
    assert.deepEqual(await tries(ticket, given), ['', '2'])
    assert.equal(await storedIn(other), '0')
    for (const never of ['*', 'member.manage', 'vendor.manage', 'company.write', 'design.approve', 'no.such', ''])
      assert.deepEqual(await tries(ticket, `["deal.read", "${never}"]`), ['', '0'], never)
    await change(sql, `update app.memberships set role_id = 7 where tenant_id = '${own}'`)
    assert.equal((await tries(await ticketOf(sql, sessions.own), given))[0], 'TN403', 'a viewer')
    // A role that manages members, and holds nothing else.
    await change(
      sql,
      `alter table app.roles disable trigger user; update app.roles set permissions = '["member.manage", "deal.read"]' where id = 7`,
    )
    const manager = await ticketOf(sql, sessions.own)
    assert.deepEqual(await tries(manager, '["deal.read"]'), ['', '1'])
    assert.deepEqual(await tries(manager, given), ['', '0'], 'more than the user holds')
    await sql`rollback to savepoint keys`
  },
})

const sentGuarantee = (world: TwoTenants): Guarantee => ({
  title: 'guarantee 6: revoke_sent_key ends the live key of a hash, and no other one',
  holds: async (sql) => {
    const { own, other } = world
    await sql`savepoint keys`
    const id = await plant(sql, world)
    const revoked = () => made(sql, `(select count(*)::text from app.api_keys where revoked_at = now())`, [])
    const send = async (hash: string) => {
      const call = `select app.revoke_sent_key(decode($1, 'hex'), null, ${SOURCE})`
      const { count } = await as(sql, 'identity_app', () => attempt(sql, call, [hash], true))
      return count
    }
    assert.equal(await send(hashOf('no key')), 0)
    assert.equal(await revoked(), '0')
    for (const hash of [KEY, BEFORE]) {
      await sql`savepoint sent`
      assert.equal(await send(hash), 1)
      assert.equal(await revoked(), '1')
      assert.equal(await send(hash), 0, 'again')
      assert.equal(await found(sql, OTHERS), `${other} []`)
      await sql`rollback to savepoint sent`
    }
    await change(sql, `update app.api_keys set previous_expires_at = now() - interval '1 second' where id = '${id}'`)
    assert.equal(await send(BEFORE), 0, 'after the overlap')
    assert.equal(await found(sql, KEY), `${own} ["deal.read"]`)
    await sql`rollback to savepoint keys`
  },
})

const operatorGuarantee = (world: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} acts on one key or tenant for operators, and for nobody else`,
  holds: async (sql) => {
    const { own, other } = world
    await sql`savepoint keys`
    const id = await plant(sql, world)
    const call = `select * from app.${name}(${name === 'end_api_key' ? `'${id}', ${SOURCE}, '{}'` : `'${own}'`})`
    for (const role of ['identity_app', 'identity_auth', 'identity_worker', 'identity_services'])
      assert.equal((await as(sql, role, () => attempt(sql, call))).code, '42501', role)
    assert.equal((await as(sql, 'identity_operator', () => attempt(sql, call, [], true))).code, '')
    assert.equal(await found(sql, KEY), name === 'end_api_key' ? '' : `${own} ["deal.read"]`)
    assert.equal(await found(sql, OTHERS), `${other} []`)
    await sql`rollback to savepoint keys`
  },
})

const warnGuarantee = (world: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: warn_of_expiring_keys adds mails in the tenant of a key that expires soon, once, and sets no tenant',
  holds: async (sql) => {
    const { own } = world
    await sql`savepoint keys`
    const id = await plant(sql, world)
    await change(
      sql,
      `update app.api_keys set revoked_at = now() where id <> '${id}';
       update app.api_keys set created_at = now() - interval '80 days', expires_at = now() + interval '10 days',
              created_by = (select user_id from app.memberships where tenant_id = '${own}' limit 1) where id = '${id}';
       update app.memberships set accepted_at = now(), revoked_at = null where tenant_id = '${own}'`,
    )
    const mailed = () =>
      made(
        sql,
        `(select count(distinct tenant_id) || ' ' || max(payload ->> 'reason') from app.jobs where payload ->> 'api_key_id' = $1)`,
        [id],
      )
    const warn = () => as(sql, 'identity_worker', () => attempt(sql, 'select app.warn_of_expiring_keys(100)', [], true))
    assert.equal((await attempt(sql, 'select app.warn_of_expiring_keys(100)')).code, '42501')
    assert.equal((await warn()).code, '')
    assert.equal(await mailed(), '1 expires-14')
    assert.equal(await tenantNow(sql), null)
    const jobs = () => made(sql, `(select count(*)::text from app.jobs where payload ->> 'api_key_id' = $1)`, [id])
    const before = await jobs()
    await warn()
    assert.equal(await jobs(), before, 'again')
    await change(sql, `update app.api_keys set expires_at = now() + interval '3 days' where id = '${id}'`)
    await warn()
    assert.equal(await mailed(), '1 expires-3')
    await sql`rollback to savepoint keys`
  },
})

const mailGuarantee = (world: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: mail_of_key returns a member and a key of the tenant of a leased mail, and nothing without its lease',
  holds: async (sql) => {
    const { own, other } = world
    await sql`savepoint keys`
    const id = await plant(sql, world)
    await change(
      sql,
      `update app.memberships set accepted_at = now(), revoked_at = null;
       update app.users set disabled_at = null, bounced_at = null;
       update app.api_keys set created_by = (select user_id from app.memberships where tenant_id = '${own}' limit 1) where id = '${id}'`,
    )
    const user = await made(sql, `(select user_id from app.memberships where tenant_id = $1 limit 1)`, [own])
    const payload = (template: string) => ({ template, user_id: user, api_key_id: id, reason: 'created' })
    const count = async (job: Lease) =>
      (await as(sql, 'identity_mailer', () => attempt(sql, 'select * from app.mail_of_key($1, $2)', job))).count
    assert.equal(await count(await lease(sql, payload('api-key'), { tenant: own })), 1)
    assert.equal(await count(await lease(sql, payload('membership-added'), { tenant: own })), 0, 'another mail')
    assert.equal(await count(await lease(sql, payload('api-key'), { tenant: other })), 0, 'of another tenant')
    const [job] = await lease(sql, payload('api-key'), { tenant: own })
    const wrong = await as(sql, 'identity_mailer', () =>
      attempt(sql, 'select * from app.mail_of_key($1, $2)', [job, randomUUID()]),
    )
    assert.equal(wrong.code, 'TN403')
    await change(sql, `update app.api_keys set revoked_at = now() where id = '${id}'`)
    assert.equal(await count(await lease(sql, payload('api-key'), { tenant: own })), 0, 'a revoked key')
    await sql`rollback to savepoint keys`
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  warn_of_expiring_keys: warnGuarantee,
  mail_of_key: mailGuarantee,
  authenticate_key: authenticateGuarantee,
  create_api_key: createGuarantee,
  rename_api_key: managedGuarantee,
  rotate_api_key: managedGuarantee,
  revoke_api_key: managedGuarantee,
  revoke_sent_key: sentGuarantee,
  end_api_key: operatorGuarantee,
  api_keys_of_tenant: operatorGuarantee,
}
