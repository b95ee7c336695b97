import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { ticketFor, ticketOf } from '#tests/support/proof.ts'
import {
  enterTenant,
  as,
  attempt,
  type Guarantee,
  type Outcome,
  REFUSED,
  sealedTicket,
  tenantsOf,
  type FunctionGuarantees,
} from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** The view through which a tenant reads app.tokens. */
export const invitationsGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 1: app.invitations shows a tenant its own open invitations and no other token',
  holds: async (sql) => {
    for (const [tenant, expected] of [
      [own, [own]],
      [other, [other]],
      [randomUUID(), []],
      [null, []],
    ] as const) {
      await enterTenant(sql, tenant)
      const rows = await sql<{ tenant_id: string; email: string }[]>`
        select t.tenant_id, i.email from app.invitations i left join app.tokens t on t.id = i.id`
      assert.deepEqual(
        [...rows],
        expected.map((id) => ({ tenant_id: id, email: 'open@shops.test' })),
      )
    }
  },
})

/** The view of live sessions, as the session check reads it. */
export const liveSessionsGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title: 'guarantee 1: the view of live sessions shows none that ended, and identity_gate alone reads it',
  holds: async (sql) => {
    const live = [sessions.own, sessions.other, sessions.pending]
    const ids = [...live, ...sessions.dead.map(([, id]) => id)]
    const read = `select session_id as id from app.live_sessions where session_id = any ('{${ids.join()}}') order by 1`
    for (const tenant of [own, other, null]) {
      await enterTenant(sql, tenant)
      assert.equal((await attempt(sql, read)).code, REFUSED)
      const rows = await as(sql, 'identity_gate', () => sql.unsafe<{ id: string }[]>(read))
      assert.deepEqual(
        rows.map(({ id }) => id),
        live.toSorted(),
      )
    }
  },
})

/** A tenant keeps its last owner. Requires a connection that may become any role, and a database with its triggers. */
export const lastOwnerGuarantee = (tenant: string): Guarantee => ({
  title: 'keeps the last owner of a tenant from being demoted, revoked, deleted or moved',
  holds: async (sql) => {
    await as(sql, 'none', async () => {
      await sql`grant delete, update (accepted_at) on app.memberships to identity_app`
      // The trigger that lists an accepted membership calls them.
      await sql`grant execute on function app.folded(text), app.listed_as(text, text) to identity_app`
    })
    await enterTenant(sql, tenant)
    const removals = (which: string): string[] => [
      `update app.memberships set role_id = 2 where ${which}`,
      `update app.memberships set revoked_at = now() where ${which}`,
      `update app.memberships set accepted_at = null where ${which}`,
      `delete from app.memberships where ${which}`,
    ]
    const expectAll = async (which: string, outcome: Outcome) => {
      for (const statement of removals(which)) assert.deepEqual(await attempt(sql, statement), outcome, statement)
    }
    const last = { count: 0, code: 'TN409' }
    await expectAll('role_id = 1', last)
    await expectAll('true', last)
    // A role that may write both tenants cannot move the last owner either.
    const move = (which: string) =>
      as(sql, 'none', () =>
        attempt(
          sql,
          `with target as (insert into app.tenants (slug, legal_name) values ('moved-to', 'Moved to') returning id)
           update app.memberships m set tenant_id = target.id from target where m.tenant_id = $1 and ${which}`,
          [tenant],
        ),
      )
    assert.deepEqual(await move('m.role_id = 1'), last, 'moving the last owner')
    await expectAll('role_id = 7', await attempt(sql, 'select from app.memberships where role_id = 7'))
    // Invited and revoked owners do not count.
    const others = `app.memberships set role_id = 1, accepted_at = null where role_id = 2`
    await attempt(sql, `update ${others}`, [], true)
    await expectAll('role_id = 1 and accepted_at is not null', last)
    await attempt(
      sql,
      `update app.memberships set accepted_at = now(), revoked_at = now() where accepted_at is null`,
      [],
      true,
    )
    await expectAll('role_id = 1 and revoked_at is null', last)
    await attempt(sql, `update app.memberships set revoked_at = null where role_id = 1`, [], true)
    const one = (which: string) => `id = (select min(id::text)::uuid from app.memberships where ${which})`
    await expectAll(one('role_id = 1'), { count: 1, code: '' })
    const moved = await move(`m.${one(`role_id = 1 and tenant_id = m.tenant_id`)}`)
    assert.deepEqual(moved, { count: 1, code: '' }, 'moving one owner of several')
    await expectAll('role_id = 1', last)
  },
})

/**
 * The locks of a write, seen from a second connection of identity_app. A revocation waits for the write, so it is never
 * confirmed before the write commits. The session's next request does not wait.
 */
export const revocationGuarantee = ({ own, sessions, admin }: TwoTenants) => ({
  title: 'blocks a revocation until the writes of the session in progress commit',
  holds: async (writer: postgres.Sql, revoker: postgres.Sql): Promise<void> => {
    const ticket = await ticketOf(admin, sessions.own)
    const operator = await ticketFor(admin, own)
    const [{ key, user } = { key: Buffer.of(), user: '' }] = await admin<{ key: Buffer; user: string }[]>`
      select token_key as key, user_id as user from app.sessions where id = ${sessions.own}`
    await writer`begin`
    await revoker`begin`
    try {
      await writer`select app.enter_to_write(${ticket}, 'company.read', false)`
      await revoker`select app.enter_to_write(${operator}, null, false)`
      await revoker`set local lock_timeout = '100ms'`
      const change = (statement: string) => attempt(revoker, statement, [user])
      const [moved] = await revoker`select from app.authenticate(${key}, 60)`
      assert.ok(moved)
      const revoke = await change(
        'update app.sessions set revoked_at = now() where user_id = $1 and revoked_at is null',
      )
      assert.equal(revoke.code, '55P03', 'revoking the session')
      const remove = await change('update app.memberships set revoked_at = now() where user_id = $1')
      assert.equal(remove.code, '55P03', 'revoking the membership')
    } finally {
      await revoker`rollback`
      await writer`rollback`
    }
  },
})

/** The functions that compute the permissions of roles. */
export const permissionsGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 6: a role has the permissions of its base and its own, and none of another tenant',
  holds: async (sql) => {
    for (const call of ['collect_permissions()', 'update_permissions()'])
      assert.equal((await attempt(sql, `select app.${call}`)).code, REFUSED, call)
    await as(sql, 'none', async () => {
      // The fixture drops every trigger.
      await sql.unsafe(`
        create trigger collects before insert or update on app.roles for each row execute function app.collect_permissions();
        create trigger updates after insert on app.role_permissions referencing new table as changed
          for each statement execute function app.update_permissions()`)
      const roles = await sql<{ id: number; tenant_id: string }[]>`
        insert into app.roles (tenant_id, code, label, rank, based_on)
        select unnest(${[own, other]}::uuid[]), 'collected', 'x', 40, 6 returning id, tenant_id`
      // One role gains its own before its base gains, and the other after it.
      const add = async (tenant: string, permission: string) => {
        const id = roles.find(({ tenant_id }) => tenant_id === tenant)?.id ?? 0
        await sql`insert into app.role_permissions values (${id}, ${permission}, ${tenant})`
      }
      await add(own, 'own.thing')
      await sql`insert into app.role_permissions values (6, 'base.thing')`
      await add(other, 'other.thing')
      const found = await sql<{ tenant_id: string; gained: string[] }[]>`
        select tenant_id, permissions - array(select jsonb_array_elements_text(permissions) from app.roles where id = 7) as gained
          from app.roles where code = 'collected' order by tenant_id = ${own} desc`
      assert.deepEqual(
        [...found],
        [
          { tenant_id: own, gained: ['base.thing', 'own.thing'] },
          { tenant_id: other, gained: ['base.thing', 'other.thing'] },
        ],
      )
    })
  },
})

/** The trigger that compares roles with those of the actor. Requires a connection that may become any role. */
export const reachGuarantee = ({ own, other: elsewhere, sessions, users }: TwoTenants): Guarantee => ({
  title: 'guarantee 6: a person gives and takes away only roles that they may give, in memberships and invitations',
  holds: async (sql) => {
    const { lower, higher, manager, other } = await as(sql, 'none', async () => {
      // The fixture drops every trigger.
      await sql.unsafe(`
        create trigger collects before insert or update on app.roles for each row execute function app.collect_permissions();
        create trigger keeps before insert or update of role_id, revoked_at on app.memberships
          for each row execute function app.keep_within_reach();
        create trigger keeps before insert or update of role_id on app.tokens
          for each row when (new.purpose = 'invite') execute function app.keep_within_reach();
        create trigger names before update of role_id on app.tokens for each row execute function app.name_inviter();
        create trigger cancels before delete on app.tokens
          for each row when (old.purpose = 'invite') execute function app.keep_within_reach()`)
      const made: Record<string, number> = {}
      // Four roles of one rank. The last manages no members.
      for (const [code, ...added] of [
        ['manager', 'member.manage', 'vendor.manage'],
        ['lower', 'member.manage'],
        ['higher', 'member.manage', 'vendor.manage', 'company.write'],
        ['other', 'vendor.manage'],
      ]) {
        const [role] = await sql<{ id: number }[]>`
          insert into app.roles (tenant_id, code, label, rank, based_on) values (${own}, ${code ?? ''}, ${code ?? ''}, 10, 7) returning id`
        for (const permission of added)
          await sql`insert into app.role_permissions (tenant_id, role_id, permission) values (${own}, ${role?.id ?? 0}, ${permission})`
        await sql`update app.roles set label = label where id = ${role?.id ?? 0}`
        made[code ?? ''] = role?.id ?? 0
      }
      return {
        lower: made['lower'] ?? 0,
        higher: made['higher'] ?? 0,
        manager: made['manager'] ?? 0,
        other: made['other'] ?? 0,
      }
    })
    const [actor, target] = [users[0]?.id ?? null, users[4]?.id ?? null]
    // The actor owns another tenant.
    await as(
      sql,
      'none',
      () => sql`update app.memberships set role_id = 1 where user_id = ${actor} and tenant_id = ${elsewhere}`,
    )
    const setRole = (user: string | null, role: number) =>
      as(sql, 'none', async () => {
        await enterTenant(sql, null)
        await sql`update app.memberships set role_id = ${role} where user_id = ${user} and tenant_id = ${own}`
      })
    const enter = async (role: number) => {
      await setRole(actor, role)
      const ticket = await as(sql, 'none', () => ticketOf(sql, sessions.own))
      await sql`select app.enter_to_write(${ticket}, 'catalog.read', false)`
    }
    const refused = { count: 0, code: 'TN430' }
    const done = { count: 1, code: '' }
    const expectOf = async (outcome: Outcome, statement: string, ...parameters: (string | null)[]) =>
      assert.deepEqual(await attempt(sql, statement, parameters), outcome, `${statement} ${String(parameters)}`)
    const change = 'update app.memberships set role_id = $1::integer where user_id = $2::uuid'
    const revoke = 'update app.memberships set revoked_at = now() where user_id = $1::uuid'
    await setRole(target, lower)
    await enter(manager)
    await expectOf(done, change, String(manager), target)
    await expectOf(refused, change, String(higher), target)
    // A role of a higher rank, though it permits less than the actor may.
    await expectOf(refused, change, '6', target)
    await expectOf(done, change, String(lower), actor)
    await expectOf(refused, change, String(higher), actor)
    await expectOf(done, revoke, target)
    await setRole(target, higher)
    await enter(manager)
    await expectOf(refused, change, String(lower), target)
    await expectOf(refused, revoke, target)
    await setRole(target, 7)
    await enter(other)
    await expectOf(refused, change, '7', target)
    await expectOf(refused, revoke, target)
    // A former member, and one whose user is disabled. Their ticket is from before.
    await enter(manager)
    await as(sql, 'none', () => sql`update app.users set disabled_at = now() where id = ${actor}`)
    await expectOf(refused, change, '7', target)
    await as(sql, 'none', () => sql`update app.users set disabled_at = null where id = ${actor}`)
    for (const state of ['accepted_at = null', 'revoked_at = now(), accepted_at = now()']) {
      await as(sql, 'none', async () => {
        await sql`alter table app.memberships disable trigger keeps`
        await sql.unsafe(`update app.memberships set ${state} where user_id = '${actor}' and tenant_id = '${own}'`)
        await sql`alter table app.memberships enable trigger keeps`
      })
      await expectOf(refused, change, '7', target)
    }
    await as(sql, 'none', async () => {
      await sql`alter table app.memberships disable trigger keeps`
      await sql`update app.memberships set accepted_at = now(), revoked_at = null where user_id = ${actor} and tenant_id = ${own}`
      await sql`alter table app.memberships enable trigger keeps`
    })
    const invite = (role: number, email: string) =>
      `insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
       values (sha256('${email}'), 'invite', '${own}', '${email}', ${role}, now() + interval '1 day')`
    const asGate = (outcome: Outcome, statement: string) => as(sql, 'identity_gate', () => expectOf(outcome, statement))
    await enterTenant(sql, null)
    await as(sql, 'none', () => sql.unsafe(invite(higher, 'higher@shops.test')))
    await as(sql, 'none', () => sql.unsafe(invite(lower, 'lower@shops.test')))
    await enter(manager)
    const where = (email: string) => `where email = '${email}'`
    await asGate(done, invite(manager, 'manager@shops.test'))
    await asGate(refused, invite(higher, 'third@shops.test'))
    const invited = (role: number, email: string) => `update app.tokens set role_id = ${role} ${where(email)}`
    await expectOf(done, invited(manager, 'lower@shops.test'))
    await expectOf(refused, invited(higher, 'lower@shops.test'))
    await expectOf(refused, invited(lower, 'higher@shops.test'))
    await expectOf(refused, invited(higher, 'higher@shops.test'))
    const deleted = (email: string) => `select from app.invitations i ${where(email)} and app.delete_invitation(i.id)`
    await expectOf(done, deleted('lower@shops.test'))
    await expectOf(refused, deleted('higher@shops.test'))
    const held = () => tenantsOf(sql, 'app.tokens', `email = $1`, ['elsewhere@shops.test'])
    const [foreign] = await as(
      sql,
      'none',
      () => sql<{ id: string }[]>`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        values (sha256('elsewhere'), 'invite', ${elsewhere}, 'elsewhere@shops.test', 7, now() + interval '1 day') returning id`,
    )
    await expectOf({ count: 0, code: '' }, 'select where app.delete_invitation($1::uuid)', foreign?.id ?? null)
    assert.deepEqual(await held(), [elsewhere])
  },
})

/** app.leave_tenant, called with tickets of live sessions, of ended ones and of others, for each tenant. */
export const leaveGuarantee = ({ own, other, sessions, users }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends the membership of a ticket's user in that tenant alone, with their sessions there`,
  holds: async (sql) => {
    const [user = null] = users.filter(({ tenants }) => tenants.length === 2).map(({ id }) => id)
    const [stranger = null] = users.filter(({ id, tenants }) => id !== null && tenants.length === 0).map(({ id }) => id)
    const left = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ what: string }[]>`
          select 'member ' || user_id || ' ' || tenant_id as what from app.memberships where revoked_at is null
          union all select 'session ' || id from app.sessions where revoked_at is null`
        return rows.map(({ what }) => what)
      })
    const nothing = { ended: [], code: '' }
    const calls: [who: string | null, session: string, tenant: string, ended: { ended: string[]; code: string }][] = [
      [user, sessions.pending, own, { ended: [`member ${user} ${own}`, `session ${sessions.own}`], code: '' }],
      [user, sessions.own, own, { ended: [`member ${user} ${own}`, `session ${sessions.own}`], code: '' }],
      [user, sessions.own, other, { ended: [`member ${user} ${other}`, `session ${sessions.other}`], code: '' }],
      [user, sessions.own, randomUUID(), nothing],
      [stranger, sessions.own, own, nothing],
      [randomUUID(), sessions.own, own, nothing],
      // Disabling a user ends their sessions.
      ...sessions.dead
        .filter(([why]) => why !== "a disabled user's")
        .map(([, id]): (typeof calls)[number] => [user, id, own, { ended: [], code: 'TN401' }]),
    ]
    const before = await left()
    for (const [who, session, tenant, { ended, code }] of calls) {
      const request = randomUUID()
      const what = `${who} ${session} ${tenant}`
      await sql`savepoint call`
      const call = `select where app.leave_tenant(decode($1, 'hex'), $2, row($3, null, null)::app.source, 600)`
      const ticket = await sealedTicket(sql, { user: who, session })
      const stepUp = (at: string) =>
        as(sql, 'none', () => sql.unsafe(`update app.sessions set stepped_up_at = ${at} where id = $1`, [session]))
      if (ended.length > 0) {
        await stepUp(`now() - interval '601 seconds'`)
        assert.equal((await attempt(sql, call, [ticket, tenant, request])).code, 'TN428', what)
      }
      await stepUp('clock_timestamp()')
      const outcome = { count: ended.length === 0 ? 0 : 1, code }
      assert.deepEqual(await attempt(sql, call, [ticket, tenant, request], true), outcome, what)
      const now = new Set(await left())
      // The sessions of a user in a tenant may be more than the named ones: an expired one is revoked with them.
      const gone = before.filter((each) => !now.has(each) && !sessions.dead.some(([, id]) => each === `session ${id}`))
      assert.deepEqual(gone.toSorted(), ended.toSorted(), what)
      const audited = ended.length === 0 ? [] : [tenant]
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', 'request_id = $1', [request]), audited, what)
      const wrong = 'request_id = $1 and actor_user_id is distinct from $2'
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', wrong, [request, who]), [], what)
      await sql`rollback to savepoint call`
    }
  },
})

/** Who has a second factor. */
export const hasFactorGuarantee = ({ own, other, users }: TwoTenants): Guarantee => ({
  title: "guarantee 6: app.has_second_factor says it of a present member of the transaction's tenant alone",
  holds: async (sql) => {
    await as(
      sql,
      'none',
      () => sql`
        insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
        select gen_random_uuid(), u.id, 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 1 from app.users u
         where u.id <> ${users[1]?.id ?? ''}`,
    )
    for (const tenant of [own, other, null]) {
      await enterTenant(sql, tenant)
      for (const { what, id, tenants } of users) {
        const [row] = await sql<{ has: boolean | null }[]>`select app.has_second_factor(${id}) as has`
        const isMember = tenant !== null && tenants.includes(tenant)
        assert.equal(row?.has, isMember ? id !== users[1]?.id : null, `${what} in ${tenant}`)
      }
    }
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  has_second_factor: hasFactorGuarantee,
  leave_tenant: leaveGuarantee,
  collect_permissions: permissionsGuarantee,
  update_permissions: permissionsGuarantee,
  keep_within_reach: reachGuarantee,
  delete_invitation: reachGuarantee,
}
