import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { expectStepUp, ticketFor, ticketGuarantee, ticketOf } from './gate-guarantees.ts'
import {
  as,
  attempt,
  enterTenant,
  type Guarantee,
  REFUSED,
  sealedTicket,
  tenantsOf,
  heldBy,
  type FunctionGuarantees,
} from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

// The functions that take the digest of a password, or the hash of a single-use token.

/** Returns a salt, the digest of a password and the stored hash, none of which costs any work. */
export function passwordOf(password: string) {
  const digest = createHash('sha256').update(password).digest()
  const salt = `$argon2id$v=19$m=64,t=1,p=1$${'A'.repeat(22)}`
  return { salt, digest, hash: `${salt}$${digest.toString('base64').replaceAll('=', '')}` }
}

/** A digest acts for its user, and no function returns one. */
export const passwordGuarantee = ({ users, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a digest signs in its user and changes their password, and any other digest nothing; no digest comes out',
  holds: async (sql) => {
    const { salt, digest, hash } = passwordOf('the password of the guarantee')
    const [user = null, neighbour = null] = users.map(({ id }) => id)
    await as(sql, 'none', () => sql`update app.users set password_hash = ${hash} where id = ${neighbour}`)
    const [row] = await as(
      sql,
      'none',
      () => sql<{ email: string }[]>`update app.users set password_hash = ${hash} where id = ${user} returning email`,
    )
    const email = row?.email ?? ''
    await as(
      sql,
      'none',
      () => sql`update app.users set password_hash = '$2b$12$unusable' where email = 'nobody@shops.test'`,
    )
    const saltOf = async (of: string) =>
      (await sql<{ salt: string }[]>`select salt from app.password_salt(${of})`)[0]?.salt ?? ''
    assert.equal(await saltOf(email.toUpperCase()), salt)
    await as(sql, 'none', () => sql`insert into app.password_costs values (262144, 16)`)
    const invented = new Set<string>()
    for (const of of ['unknown@shops.test', 'unknown2@shops.test', 'nobody@shops.test']) {
      assert.match(await saltOf(of), /^\$argon2id\$v=19\$m=262144,t=16,p=1\$[A-Za-z0-9+/]{22}$/)
      assert.equal(await saltOf(of), await saltOf(of.toUpperCase()))
      invented.add(await saltOf(of))
    }
    assert.equal(invented.size, 3)

    const ticket = Buffer.from(await sealedTicket(sql, { user, session: sessions.own }), 'hex')
    const stored = () =>
      as(sql, 'none', async () => {
        const [state] = await sql<{ state: string }[]>`
          select (select password_hash from app.users where id = ${user}) || (select count(*) from app.sessions) as state`
        return state?.state
      })
    const outcomes = async (of: string, tried: Buffer | null) => {
      const signedIn = await sql<{ user_id: string }[]>`
        select user_id from app.sign_in(
          ${of}, ${tried}, ${randomBytes(32)}, ${digest}, ${digest}, null, 60, 60, 50, row('r', null, null)::app.source)`
      const [own] = await sql<{ own: boolean }[]>`select app.is_own_password(${ticket}, ${tried}) as own`
      const [changed] = await sql<{ changed: boolean }[]>`
        select app.change_password(${ticket}, ${tried}, ${`${hash}x`}, row('r', null, null)::app.source) as changed`
      return [signedIn.map((session) => session.user_id), own?.own, changed?.changed]
    }
    const before = await stored()
    const flipped = Buffer.from(digest.map((byte, at) => (at === 31 ? byte ^ 1 : byte)))
    for (const wrong of [
      flipped,
      digest.subarray(1),
      Buffer.concat([digest, digest]),
      Buffer.alloc(0),
      Buffer.alloc(32),
      null,
    ]) {
      assert.deepEqual(await outcomes(email, wrong), [[], false, false])
      await sql`select app.rehash_password(${email}, ${wrong}, 'x')`
      assert.equal(await stored(), before)
    }
    await sql`savepoint guessed`
    const guesses = () =>
      as(sql, 'none', async () => {
        const [counted] = await sql<{ attempts: number; most: number }[]>`
          select r.attempts, l.most from app.guesses_of(${email.toUpperCase()}) l join app.rate_limits r on r.key = l.key`
        return counted
      })
    assert.ok(
      (await guesses())?.attempts === 6,
      'every wrong digest counts for its address, whatever limits the caller names',
    )
    await as(
      sql,
      'none',
      () => sql`update app.rate_limits r set attempts = 1000 from app.guesses_of(${email}) l where r.key = l.key`,
    )
    assert.deepEqual((await outcomes(email, digest))[0], [null], 'the right digest after too many guesses')
    assert.equal((await guesses())?.attempts, 1000)
    await sql`rollback to savepoint guessed`
    await sql`savepoint correct`
    for (const of of ['unknown@shops.test', 'nobody@shops.test']) assert.deepEqual((await outcomes(of, digest))[0], [])
    await sql`rollback to savepoint correct`
    await sql`select app.rehash_password(${email}, ${digest}, ${hash.replace('t=1', 't=2')})`
    assert.match((await stored()) ?? '', /t=2/)
    assert.deepEqual(await outcomes(email, digest), [[user], true, true])
    const same = await as(sql, 'none', () => sql`select id from app.users where password_hash = ${hash}`)
    assert.deepEqual([...same], [{ id: neighbour }], 'a user with the same password hash')
    await as(sql, 'none', () => sql`update app.users set password_hash = null where id = ${user}`)
    assert.deepEqual(await outcomes(email, Buffer.alloc(0)), [[], false, false], 'a user without a password')
    await as(
      sql,
      'none',
      () => sql`update app.users set password_hash = ${hash}, disabled_at = now() where id = ${user}`,
    )
    assert.deepEqual((await outcomes(email, digest)).slice(0, 2), [[], false], 'a disabled user')
  },
})

/** A token hash acts for its user or tenant, by its purpose and while it is open. */
export const tokenGuarantee = ({ own, other, users }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: the hash of an invitation or a verification acts once, for its own tenant and user; any other hash does nothing',
  holds: async (sql) => {
    const expired = randomBytes(32)
    await as(
      sql,
      'none',
      () => sql`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        values (${expired}, 'invite', ${own}, 'expired@shops.test', 7, now())`,
    )
    const reset = randomBytes(32)
    await as(
      sql,
      'none',
      () => sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (${reset}, 'password_reset', ${users[0]?.id ?? ''}, now() + interval '1 hour')`,
    )
    assert.equal(
      (await sql`select from app.find_verification(${reset}, null) as found where found is not null`).length,
      0,
    )
    const tokens = await as(
      sql,
      'none',
      () => sql<{ hash: Buffer; tenant: string; invite: boolean; consumed: boolean; email: string }[]>`
        select token_hash as hash, tenant_id as tenant, purpose = 'invite' as invite, consumed_at is not null as consumed, email
          from app.tokens where tenant_id = any (${[own, other]}) and expires_at > now()`,
    )
    assert.ok(tokens.length >= 6)
    const accept = (hash: Buffer) =>
      sql<{ user_id: string | null; account_created: boolean }[]>`
        select * from app.accept_invitation(${hash}, null, 'Ann', 'x', row('r', null, null)::app.source)`
    const verifiable = async (hash: Buffer) =>
      (await sql<{ email: string | null }[]>`select app.find_verification(${hash}, null) as email`)[0]?.email
    const memberships = async () =>
      Object.groupBy(await tenantsOf(sql, 'app.memberships', 'accepted_at is not null', []), String)
    for (const { hash, tenant, invite, consumed, email } of [
      ...tokens,
      { hash: randomBytes(32), tenant: own, invite: false, consumed: false, email: 'no token' },
      { hash: expired, tenant: own, invite: false, consumed: false, email: 'an expired token' },
    ]) {
      await sql`savepoint token`
      await enterTenant(sql, null)
      const before = await memberships()
      const found = await sql<{ tenant_id: string }[]>`select tenant_id from app.find_invitation(${hash}, null)`
      assert.deepEqual(
        found.map((row) => row.tenant_id),
        invite ? [tenant] : [],
        email,
      )
      const [accepted] = await accept(hash)
      assert.deepEqual(accepted?.account_created, invite ? !consumed : undefined, email)
      const added = invite && !consumed ? [tenant] : []
      for (const of of [own, other])
        assert.equal((await memberships())[of]?.length, (before[of]?.length ?? 0) + (added.includes(of) ? 1 : 0), email)
      assert.deepEqual(
        await tenantsOf(sql, 'app.audit_log', `action = 'membership.accepted' and request_id = 'r'`, []),
        added,
      )
      if (added.length > 0) assert.deepEqual([...(await accept(hash))], [{ user_id: null, account_created: false }])
      assert.equal((await sql`select from app.verify_email(${hash}, null) as v where v`).length, 0, email)
      assert.equal(await verifiable(hash), null, email)
      await sql`rollback to savepoint token`
    }
    const user = users[0]?.id ?? null
    const [hash, late] = [randomBytes(32), randomBytes(32)]
    const [address] = await as(sql, 'none', async () => {
      await sql`update app.users set email_verified_at = null`
      await sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (${hash}, 'email_verify', ${user}, now() + interval '1 day'), (${late}, 'email_verify', ${user}, now())`
      return sql<{ email: string }[]>`select email from app.users where id = ${user}`
    })
    assert.equal(await verifiable(late), null)
    assert.equal(await verifiable(hash), address?.email)
    for (let time = 1; time <= 2; time++)
      assert.equal((await sql`select from app.verify_email(${hash}, null) as v where v`).length, 1)
    assert.equal(await verifiable(hash), null)
    const verified = await as(sql, 'none', () => sql`select id from app.users where email_verified_at is not null`)
    assert.deepEqual([...verified], [{ id: user }])
  },
})

/** The list of members bypasses the policies of its tables. */
export const memberListGuarantee = (world: TwoTenants): Guarantee => ({
  title:
    "guarantee 6: app.list_members returns the members and open invitations of its ticket's tenant, and no user of the latter",
  holds: async (sql) => {
    const { own, other, sessions } = world
    await ticketGuarantee(world).holds(sql)
    const listed = (ticket: string, search: string | null) =>
      sql<{ id: string; user_id: string | null; accepted_at: string | null; total: number }[]>`
        select * from app.list_members(decode(${ticket}, 'hex'), true, true, true, null, ${search}, '', ${randomUUID()}, 1000, true)`
    for (const [session, tenant] of [
      [sessions.own, own],
      [sessions.other, other],
    ] as const) {
      const ticket = await ticketOf(sql, session)
      const expected = await as(
        sql,
        'none',
        () => sql<{ id: string }[]>`
          select id from app.memberships where tenant_id = ${tenant} and accepted_at is not null
          union all
          select id from app.tokens where tenant_id = ${tenant} and purpose = 'invite' and consumed_at is null`,
      )
      for (const entered of [null, own, other]) {
        await enterTenant(sql, entered)
        const ids = new Set(expected.map(({ id }) => id))
        const rows = await listed(ticket, null)
        assert.deepEqual(rows.map(({ id }) => id).toSorted(), [...ids].toSorted())
        assert.ok(rows.every(({ total }) => total === ids.size))
        assert.ok(rows.every((row) => (row.user_id === null) === (row.accepted_at === null)))
        assert.ok((await listed(ticket, 'test')).every(({ id, total }) => ids.has(id) && total <= ids.size))
      }
    }
  },
})

// Nobody knows the first. The second left both tenants, and stays a former member until they accept.
const NOBODY_WAITS = ['new@shops.test', 'former@shops.test']

/** An invitation belongs to the ticket's tenant, gives no role above the inviter's, and does not say whether the address has a user. */
export const newInvitationGuarantee = ({ own, other, users, sessions }: TwoTenants): Guarantee => ({
  title:
    "guarantee 6: app.issue_invitation writes in its ticket's tenant alone, for a session that may, and makes nobody a member or visible",
  holds: async (sql) => {
    const role = (code: 'sales' | 'admin') =>
      as(
        sql,
        'none',
        () => sql`
        update app.memberships set role_id = (select id from app.roles where code = ${code} and tenant_id is null)
         where user_id = ${users[0]?.id ?? null}`,
      )
    const call = `app.issue_invitation(decode($1, 'hex'), $2, $3, sha256(convert_to($4, 'UTF8')), 'n', 60, 60, row(sha256('t'), 999, 60)::app.limit, row(sha256('x'), 99, 60)::app.limit, row('r', null, null)::app.source)`
    const refused = async (ticket: string) =>
      (await attempt(sql, `select ${call}`, [ticket, 'new@shops.test', 'viewer', 'x'])).code
    await sql`savepoint invited`
    await as(sql, 'none', () => sql`insert into app.users (email) values ('stranger@shops.test')`)
    await as(
      sql,
      'none',
      () => sql`
        with person as (insert into app.users (email) values ('former@shops.test') returning id)
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at)
        select t.id, person.id, 7, now(), now() from app.tenants t, person where t.id in (${own}, ${other})`,
    )
    await as(
      sql,
      'none',
      () => sql`
        insert into app.roles (tenant_id, code, label, rank, based_on, deleted_at)
        select t.id, c.code, c.code, r.rank, r.id, case c.code when 'gone' then now() end
          from app.roles r, app.tenants t, unnest(array['gone', t.slug]) as c (code)
         where r.id = 7 and t.id in (${own}, ${other})`,
    )
    await role('sales')
    assert.equal(await refused(await ticketOf(sql, sessions.own)), 'TN403', 'without the permission')
    await role('admin')
    const ended = await ticketOf(sql, sessions.own)
    await sql`savepoint ended`
    await as(sql, 'none', () => sql`update app.sessions set revoked_at = now() where id = ${sessions.own}`)
    assert.equal(await refused(ended), 'TN401', 'an ended session')
    await sql`rollback to savepoint ended`
    const stepped = `select ${call.replace(/\)$/, ', null, $5)')}`
    await expectStepUp(
      sql,
      sessions.own,
      async (seconds) => (await attempt(sql, stepped, [ended, 'new@shops.test', 'viewer', 'x', seconds])).code,
    )
    assert.equal(await refused('00'.repeat(103)), 'TN500', 'an invented ticket')
    for (const [tenant, session, owner, ours, theirs] of [
      [own, sessions.own, 'owner@acme.test', 'acme-print', 'bolt-apparel'],
      [other, sessions.other, 'owner@bolt.test', 'bolt-apparel', 'acme-print'],
    ] as const) {
      const ticket = await ticketOf(sql, session)
      const issue = async (email: string, code: string | null, by = ticket) => {
        const [row] = await sql.unsafe<{ refusal: string | null; id: string | null }[]>(
          `select refusal, id from ${call}`,
          [by, email, code, randomUUID()],
        )
        return row
      }
      await enterTenant(sql, tenant)
      for (const email of ['owner@acme.test', 'owner@bolt.test', ...NOBODY_WAITS, 'stranger@shops.test']) {
        const seen = () => attempt(sql, 'select id from app.users')
        const before = await seen()
        const row = await issue(email, 'viewer')
        assert.equal(row?.refusal, email === owner ? 'already-member' : null, email)
        if (email !== owner) assert.deepEqual(await tenantsOf(sql, 'app.tokens', 'id = $1', [row?.id ?? '']), [tenant])
        const waiting = await tenantsOf(sql, 'app.memberships', 'invitation_id = $1', [row?.id ?? null])
        assert.deepEqual(waiting, email === owner || NOBODY_WAITS.includes(email) ? [] : [tenant])
        assert.deepEqual(await seen(), before, email)
      }
      await as(
        sql,
        'none',
        () => sql`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        values (${randomBytes(32)}, 'invite', ${tenant}, 'boss@shops.test', 1, now())`,
      )
      assert.equal((await issue('new1@shops.test', ours))?.refusal, null, 'a role of the tenant')
      for (const code of [theirs, 'gone'])
        assert.equal((await issue('new2@shops.test', code))?.refusal, 'no-role', code)
      assert.equal((await issue('new2@shops.test', 'owner'))?.refusal, 'role-beyond')
      assert.equal((await issue('boss@shops.test', 'viewer'))?.refusal, 'invitation-beyond')
      assert.equal(await refused(await ticketFor(sql, tenant)), 'TN500', 'the ticket of an operator')
    }
    await sql`rollback to savepoint invited`
  },
})

/** An invitation by the platform. */
export const storedInvitationGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: "guarantee 6: app.store_invitation writes in the transaction's tenant alone, and makes nobody a member",
  holds: async (sql) => {
    await as(sql, 'none', () => sql`insert into app.users (email) values ('unknown@shops.test')`)
    const members = () => tenantsOf(sql, 'app.memberships', 'accepted_at is not null and revoked_at is null', [])
    const before = await members()
    const store = (kept: boolean) =>
      attempt(sql, `select app.store_invitation('unknown@shops.test', 1, sha256('x'), 60)`, [], kept)
    await enterTenant(sql, null)
    assert.equal((await store(false)).code, 'TN500', 'in no tenant')
    for (const tenant of [own, other]) {
      await sql`savepoint stored`
      await enterTenant(sql, tenant)
      assert.deepEqual(await store(true), { count: 1, code: '' })
      assert.deepEqual(await tenantsOf(sql, 'app.tokens', `email = 'unknown@shops.test'`, []), [tenant])
      const waiting = `user_id = (select id from app.users where email = 'unknown@shops.test')`
      assert.deepEqual(await tenantsOf(sql, 'app.memberships', waiting, []), [tenant])
      assert.deepEqual(await members(), before)
      await sql`rollback to savepoint stored`
    }
    await as(sql, 'identity_app', async () => assert.equal((await store(false)).code, REFUSED))
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  issue_invitation: newInvitationGuarantee,
  list_members: memberListGuarantee,
  store_invitation: (world) => heldBy('identity_operator', storedInvitationGuarantee(world)),
  password_salt: (world) => heldBy('identity_auth', passwordGuarantee(world)),
  is_own_password: passwordGuarantee,
  rehash_password: passwordGuarantee,
  sign_in: passwordGuarantee,
  verify_email: tokenGuarantee,
  find_verification: tokenGuarantee,
  find_invitation: tokenGuarantee,
  accept_invitation: tokenGuarantee,
}
