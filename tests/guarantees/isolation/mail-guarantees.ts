import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { as, attempt, type FunctionGuarantees, type Guarantee } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

const CALLS = {
  mail_of_invitation: `app.mail_of_invitation($1, $2, array[sha256('other'), sha256('invite')])`,
  mail_of_user: `app.mail_of_user($1, $2, array[sha256('mail')], 60)`,
  mail_of_membership: 'app.mail_of_membership($1, $2)',
  mail_of_departure: 'app.mail_of_departure($1, $2)',
} as const

export type Lease = [job: string, token: string]

/** Adds a leased job as a superuser. */
export async function lease(
  sql: postgres.Sql,
  payload: object,
  { tenant = null, kind = 'mail', until = '1 hour' }: { tenant?: string | null; kind?: string; until?: string } = {},
): Promise<Lease> {
  const token = randomUUID()
  const [job] = await as(
    sql,
    'none',
    () => sql<{ id: string }[]>`
      insert into app.jobs (tenant_id, kind, payload, idempotency_key, lease_token, leased_until)
      values (${tenant}, ${kind}, ${JSON.stringify(payload)}::text::jsonb, ${token}, ${token}, now() + ${until}::text::interval)
      returning id`,
  )
  return [job?.id ?? '', token]
}

/** What a lease of the mailer opens. */
export const mailGuarantee = ({ own, other, users }: TwoTenants, name: string): Guarantee => ({
  title:
    'guarantee 6: a lease of a mail returns the recipient of its own job alone, and stores one token for that user',
  holds: async (sql) => {
    const user = users[0]?.id ?? ''
    const stranger = users.find(({ id, tenants }) => id !== null && !tenants.includes(own))?.id ?? ''
    const [row] = await as(
      sql,
      'none',
      () => sql<{ email: string }[]>`
        update app.users set email_verified_at = null where id = ${user} returning email`,
    )
    const email = row?.email ?? ''
    const [invitation] = await as(
      sql,
      'none',
      () => sql<{ id: string }[]>`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        values (sha256('invite'), 'invite', ${own}, 'mail@shops.test', 7, now() + interval '1 hour') returning id`,
    )
    // Of the two who invited the user, one is a member of the tenant.
    const [invited] = await as(
      sql,
      'none',
      () => sql<{ email: string }[]>`
        with inviter as (
          select u.id, u.email from app.memberships m join app.users u on u.id = m.user_id and u.disabled_at is null
           where m.tenant_id = ${own} and m.user_id <> ${user} and m.accepted_at is not null and m.revoked_at is null limit 1),
        changed as (
          update app.memberships m set invited_by = case when m.tenant_id = ${own} then i.id else ${stranger}::uuid end from inviter i where m.user_id = ${user})
        select email from inviter`,
    )
    const inviter = invited?.email ?? null
    assert.ok(inviter !== null)
    // Somebody left both tenants. The named owner is one of the first alone.
    const memberships = await as(
      sql,
      'none',
      () => sql<{ id: string; tenant_id: string }[]>`
        with somebody as (insert into app.users (email) values ('left@shops.test') returning id)
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at)
        select t, id, 7, now(), now() from somebody, unnest(${[own, other]}::uuid[]) t returning id, tenant_id`,
    )
    const ofTenant = (id: string) => memberships.find(({ tenant_id }) => tenant_id === id)?.id
    const [owner] = await as(
      sql,
      'none',
      () => sql<{ id: string; email: string }[]>`
        select u.id, u.email from app.memberships m join app.users u on u.id = m.user_id and u.disabled_at is null
         where m.tenant_id = ${own} and m.role_id = 1 and m.accepted_at is not null and m.revoked_at is null
           and not exists (select from app.memberships o where o.user_id = u.id and o.tenant_id = ${other}) limit 1`,
    )
    const departed = { template: 'member-left', user_id: owner?.id, membership_id: ofTenant(own) }
    assert.ok(owner !== undefined)
    const open = async (call: string, job: Lease): Promise<string[]> => {
      const rows = await sql.unsafe<{ email: string }[]>(`select email from ${call}`, job)
      return rows.map((found) => found.email)
    }
    const [openReset, endedReset] = [randomUUID(), randomUUID()]
    await as(
      sql,
      'none',
      () => sql`
        insert into app.factor_resets (id, user_id, cancelled_at) values (${openReset}, ${user}, null), (${endedReset}, ${user}, now())`,
    )
    const reset = { template: 'second-factor-reset', user_id: user, reset_id: openReset }
    const invite = { template: 'invitation', invitation_id: invitation?.id }
    const added = { template: 'membership-added', user_id: user }
    for (const [payload, tenant, by, expected] of [
      [invite, own, 'mail_of_invitation', 'mail@shops.test'],
      [invite, other, 'mail_of_invitation', null],
      [{ ...invite, template: 'password-reset', email: 'nobody@of.test' }, own, 'mail_of_user', null],
      [{ template: 'password-changed', user_id: user }, null, 'mail_of_user', email],
      [{ template: 'new-sign-in', user_id: user }, null, 'mail_of_user', email],
      [{ template: 'new-sign-in', user_id: user }, own, 'mail_of_user', null],
      [{ template: 'password-changed', user_id: user }, own, 'mail_of_user', null],
      [{ template: 'email-verification', user_id: user }, own, 'mail_of_user', null],
      [{ template: 'password-reset', email }, own, 'mail_of_user', null],
      [{ template: 'email-verification', user_id: user }, null, 'mail_of_user', email],
      [{ template: 'password-reset', email }, null, 'mail_of_user', email],
      [reset, null, 'mail_of_user', email],
      [reset, own, 'mail_of_user', null],
      [{ ...reset, reset_id: endedReset }, null, 'mail_of_user', null],
      [{ ...reset, user_id: stranger }, null, 'mail_of_user', null],
      [added, own, 'mail_of_membership', email],
      [added, null, 'mail_of_user', null],
      [{ ...added, template: 'membership-removed' }, own, 'mail_of_membership', email],
      [{ ...added, user_id: stranger }, own, 'mail_of_membership', null],
      [{ ...added, template: 'role-changed' }, own, 'mail_of_membership', email],
      [
        { ...added, template: 'role-changed' },
        other,
        'mail_of_membership',
        users[0]?.tenants.includes(other) === true ? email : null,
      ],
      // The tenant asks nobody for a second factor.
      [{ ...added, template: 'second-factor-required' }, own, 'mail_of_membership', null],
      [{ ...added, template: 'invitation-accepted' }, own, 'mail_of_membership', inviter],
      [{ ...added, template: 'invitation-accepted', user_id: stranger }, own, 'mail_of_membership', null],
      [departed, null, 'mail_of_departure', owner.email],
      [departed, own, 'mail_of_departure', owner.email],
      [departed, other, 'mail_of_departure', null],
      [{ ...departed, membership_id: ofTenant(other) }, null, 'mail_of_departure', null],
      [{ ...departed, user_id: stranger }, null, 'mail_of_departure', null],
      [{ ...departed, template: 'role-changed' }, null, 'mail_of_departure', null],
    ] as const) {
      const what = JSON.stringify(payload)
      const job = await lease(sql, payload, { tenant })
      await sql`savepoint mail`
      for (const [, call] of Object.entries(CALLS).filter(([called]) => called === name)) {
        const found = name === by && expected !== null ? [expected] : []
        assert.deepEqual(await open(call, job), found, `${name} of ${what}`)
        assert.deepEqual(await open(call, job), found, `${name} of ${what}, again`)
        const ended = await lease(sql, payload, { tenant, until: '-1 second' })
        const another = await lease(sql, payload, { tenant, kind: 'planted' })
        for (const wrong of [[job[0], randomUUID()], [randomUUID(), job[1]], ended, another] as Lease[])
          assert.equal((await attempt(sql, `select email from ${call}`, wrong)).code, 'TN403', `${name} of ${what}`)
      }
      const stored = await as(
        sql,
        'none',
        () => sql`select user_id, purpose from app.tokens where token_hash = sha256('mail')`,
      )
      const purposes: Readonly<Record<string, string>> = {
        'email-verification': 'email_verify',
        'password-reset': 'password_reset',
        'second-factor-reset': 'factor_reset_cancel',
      }
      const purpose = purposes[payload.template]
      const issued =
        purpose === undefined || name !== 'mail_of_user' || expected === null ? [] : [{ user_id: user, purpose }]
      assert.deepEqual([...stored], issued, what)
      await sql`rollback to savepoint mail`
    }
  },
})

/** What the job of a password reset changes of an invitation. */
export const remailGuarantee = ({ own, other, users }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a lease of a password reset mails the open invitation of its own address, and only without an account',
  holds: async (sql) => {
    const planted = (address: string, hash: string) =>
      as(
        sql,
        'none',
        () => sql`
          insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
          values (sha256(${hash}::text::bytea), 'invite', ${own}, ${address}, 7, now() + interval '1 hour')
          on conflict do nothing`,
      )
    const [user] = await as(
      sql,
      'none',
      () => sql<{ email: string }[]>`select email from app.users where id = ${users[0]?.id ?? ''}`,
    )
    await planted('open@shops.test', 'one')
    await planted('else@shops.test', 'two')
    await planted(user?.email ?? '', 'three')
    const CALL = `select app.remail_invitation($1, $2, sha256('again'), 'nonce', 0, row(sha256('a'), 9, 60)::app.limit, row(sha256('b'), 9, 60)::app.limit) as mailed`
    const reset = (email: string | null) => ({ template: 'password-reset', email })
    for (const [payload, tenant, expected] of [
      [reset('open@shops.test'), null, true],
      [reset('OPEN@shops.test'), null, true],
      [reset('open@shops.test'), own, false],
      [reset('open@shops.test'), other, false],
      [reset('nobody@shops.test'), null, false],
      [reset(user?.email ?? ''), null, false],
      [{ template: 'invitation', email: 'open@shops.test' }, null, false],
      [{ template: 'email-verification', email: 'open@shops.test' }, null, false],
    ] as const) {
      const what = JSON.stringify([payload, tenant])
      const job = await lease(sql, payload, { tenant })
      await sql`savepoint mail`
      const rows = await sql.unsafe<{ mailed: boolean }[]>(CALL, job)
      assert.deepEqual([...rows], [{ mailed: expected }], what)
      const changed = await as(sql, 'none', () => sql`select email from app.tokens where token_hash = sha256('again')`)
      assert.deepEqual([...changed], expected ? [{ email: 'open@shops.test' }] : [], what)
      await sql`rollback to savepoint mail`
    }
    const job = await lease(sql, reset('open@shops.test'))
    const ended = await lease(sql, reset('open@shops.test'), { until: '-1 second' })
    for (const wrong of [[job[0], randomUUID()], [randomUUID(), job[1]], ended] as Lease[])
      assert.equal((await attempt(sql, CALL, wrong)).code, 'TN403')
  },
})

/** Who gets a mail about a policy on second factors. */
export const announceGuarantee = ({ own, other, users }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a lease of a policy adds mails of its own tenant alone, for the members whom that asks and who have no second factor',
  holds: async (sql) => {
    const call = 'select app.announce_second_factor($1, $2) as added'
    const policy = { template: 'second-factor-policy', reminder: false }
    const [first, second] = users.map(({ id }) => id ?? '')
    const mailed = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ tenant_id: string; user: string; rightly: boolean }[]>`
          select j.tenant_id, j.payload ->> 'user_id' as user,
                 exists (select from app.memberships m where m.tenant_id = ${own} and m.user_id = (j.payload ->> 'user_id')::uuid
                                                        and m.accepted_at is not null and m.revoked_at is null) as rightly
            from app.jobs j where j.payload ->> 'template' = 'second-factor-required'`
        return rows
      })
    const announce = async (payload: object, tenant: string | null) => {
      const [row] = await sql.unsafe<{ added: number }[]>(call, await lease(sql, payload, { tenant }))
      return row?.added
    }
    assert.equal(await announce(policy, own), 0, 'it asks nobody')
    await as(sql, 'none', async () => {
      await sql`update app.tenants set second_factor_managers_from = now(), second_factor_everyone_from = now()`
      await sql`update app.memberships set revoked_at = now() where tenant_id = ${own} and user_id = ${second ?? ''}`
      await sql`
        insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
        values (gen_random_uuid(), ${first ?? ''}, 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 1)`
    })
    assert.equal(await announce(policy, null), 0, 'no tenant')
    assert.equal(await announce({ template: 'membership-added', user_id: first }, own), 0, 'another mail')
    assert.equal(await announce({ ...policy, reminder: true }, own), 0, 'it is asked already')
    const wrong = await lease(sql, policy, { tenant: own })
    assert.equal((await attempt(sql, call, [wrong[0], randomUUID()])).code, 'TN403')
    assert.deepEqual([...(await mailed())], [])
    const added = await announce(policy, own)
    const found = await mailed()
    assert.ok(found.length > 0 && found.length === added)
    for (const mail of found) {
      assert.deepEqual([mail.tenant_id, mail.rightly], [own, true])
      assert.ok(mail.user !== first, 'who has a second factor gets none')
    }
    assert.notEqual(own, other)
    assert.equal(await announce(policy, own), added)
    assert.equal((await mailed()).length, added, 'once')
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  announce_second_factor: announceGuarantee,
  mail_of_invitation: mailGuarantee,
  mail_of_user: mailGuarantee,
  mail_of_membership: mailGuarantee,
  mail_of_departure: mailGuarantee,
  remail_invitation: remailGuarantee,
}
