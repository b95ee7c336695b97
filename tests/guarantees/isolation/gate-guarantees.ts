import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { expired, TICKET_BYTES, withEachByteChanged } from './forged-tickets.ts'
import {
  as,
  attempt,
  enterTenant,
  type Guarantee,
  REFUSED,
  sealedTicket,
  heldBy,
  type FunctionGuarantees,
} from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

// The functions of identity_gate. Each needs proof, which the connection of the guarantee gets as a superuser.

const LOGINS = SERVICE_ROLES.map(loginName)
const NO_TICKET = '00'.repeat(TICKET_BYTES)

/** Returns what a superuser's statement returns, as text. */
export const made = (sql: postgres.Sql, statement: string, parameters: (string | null)[]): Promise<string> =>
  as(sql, 'none', async () => {
    const [row] = await sql.unsafe<{ made: string }[]>(`select ${statement} as made`, parameters)
    return row?.made ?? ''
  })

export const ticketFor = (sql: postgres.Sql, tenant: string) =>
  made(sql, `encode(app.operator_ticket($1, 'a test'), 'hex')`, [tenant])

export const ticketOf = (sql: postgres.Sql, session: string) =>
  made(
    sql,
    `(select encode(a.ticket, 'hex') from app.sessions s, app.authenticate(s.token_key, 60) a where s.id = $1)`,
    [session],
  )

export const tenantNow = async (sql: postgres.Sql): Promise<string | null> =>
  (await sql<{ tenant: string | null }[]>`select app.current_tenant() as tenant`)[0]?.tenant ?? null

/** Runs in a savepoint that is rolled back, with no tenant at its beginning. */
export async function unset(sql: postgres.Sql, work: () => Promise<void>): Promise<void> {
  await sql`savepoint unset`
  await enterTenant(sql, null)
  await work()
  await sql`rollback to savepoint unset`
  // Another one may be open around it.
  await sql`release savepoint unset`
}

// By the clock that decides: a transaction of many guarantees may take longer than the difference.
const STEPPED_UP = [
  [`clock_timestamp() - interval '61 seconds'`, 'TN428'],
  ['null', 'TN428'],
  [`clock_timestamp() - interval '30 seconds'`, ''],
] as const

/** Expects a call to refuse a session whose last step-up is older than the seconds that it requires, and to require nothing without them. */
export async function expectStepUp(
  sql: postgres.Sql,
  session: string,
  codeOf: (seconds: '60' | null) => Promise<string>,
): Promise<void> {
  for (const [steppedUpAt, code] of STEPPED_UP) {
    await unset(sql, async () => {
      await as(sql, 'none', () =>
        sql.unsafe(`update app.sessions set stepped_up_at = ${steppedUpAt} where id = $1`, [session]),
      )
      assert.equal(await codeOf('60'), code, steppedUpAt)
      assert.equal(await codeOf(null), '', steppedUpAt)
    })
  }
}

const ENTRIES = [`app.enter_to_read(decode($1, 'hex'))`, `app.enter_to_write(decode($1, 'hex'), 'company.read', false)`]

// All that read a ticket with a tenant.
const READERS = [
  ...ENTRIES,
  `app.issue_invitation(decode($1, 'hex'), 'new@shops.test', 'viewer', sha256('x'), 'n', 60, 60, row(sha256('t'), 999, 60)::app.limit, row(sha256('x'), 9, 60)::app.limit, row('r', null, null)::app.source)`,
  `app.list_members(decode($1, 'hex'), true, true, true, null, null, '', gen_random_uuid(), 9, true)`,
]

/** Lets a tenant ask everyone for a second factor. */
export const ASKING = `update app.tenants set second_factor_managers_from = now(), second_factor_everyone_from = now() where id = $1`

/** A ticket opens the tenant that it was sealed for. */
export const ticketGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 8: a ticket enters its own tenant, with the step-up that it must have, and a changed, an invented or an expired one none',
  holds: async (sql) => {
    const [, write = ''] = ENTRIES
    const ticket = await ticketOf(sql, sessions.own)
    for (const [sealed, tenant] of [
      [ticket, own],
      [await ticketOf(sql, sessions.other), other],
      [await ticketFor(sql, own), own],
    ] as const) {
      await unset(sql, async () => {
        assert.deepEqual(await attempt(sql, `select ${write}`, [sealed], true), { count: 1, code: '' })
        assert.equal(await tenantNow(sql), tenant)
      })
    }
    const forged = [NO_TICKET, '', ticket.slice(2), `${ticket}00`, ...withEachByteChanged(ticket)]
    for (const entry of READERS) {
      const outcomes = await Promise.all(forged.map((text) => attempt(sql, `select ${entry}`, [text])))
      assert.deepEqual(new Set(outcomes.map(({ code }) => code)), new Set(['TN500']))
    }
    const late = await expired(sql, await ticketOf(sql, sessions.own))
    for (const entry of READERS) assert.equal((await attempt(sql, `select ${entry}`, [late])).code, 'TN401')
    const pending = await ticketOf(sql, sessions.pending)
    assert.equal((await attempt(sql, `select ${READERS.at(-1)}`, [pending])).code, 'TN500', 'without a tenant')
    const stepped = `select app.enter_to_write(decode($1, 'hex'), $2, false, $3)`
    await expectStepUp(
      sql,
      sessions.own,
      async (seconds) => (await attempt(sql, stepped, [ticket, 'company.read', seconds])).code,
    )
    assert.equal((await attempt(sql, stepped, [ticket, 'no.such', '0'])).code, 'TN403', 'before the step-up')
    await unset(sql, async () => {
      await as(sql, 'none', () => sql.unsafe(ASKING, [own]))
      assert.equal(
        (await attempt(sql, stepped, [ticket, 'company.read', null])).code,
        'TN401',
        'without the second factor',
      )
      await as(sql, 'none', () => sql`update app.sessions set second_factor_at = now() where id = ${sessions.own}`)
      assert.equal((await attempt(sql, stepped, [ticket, 'company.read', null])).code, '', 'with it')
    })
  },
})

/** A ticket without its session locks nothing and guards no write. */
export const enterSessionGuarantee = ({ own, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 8: app.enter_session needs the ticket of a live session with the step-up that it must have, and sets no tenant',
  holds: async (sql) => {
    const enter = (ticket: string) => attempt(sql, `select app.enter_session(decode($1, 'hex'))`, [ticket], true)
    await unset(sql, async () => {
      for (const id of [sessions.own, sessions.pending]) {
        assert.equal((await enter(await ticketOf(sql, id))).code, '', id)
        assert.equal(await tenantNow(sql), null)
      }
      for (const [why, id] of sessions.dead) {
        const expected = why === "a disabled user's" ? '' : 'TN401'
        assert.equal((await enter(await sealedTicket(sql, { session: id }))).code, expected, why)
      }
      assert.equal((await enter(await ticketFor(sql, own))).code, 'TN500', 'a ticket of an operator')
      assert.equal((await enter(NO_TICKET)).code, 'TN500')
    })
    const ticket = await ticketOf(sql, sessions.pending)
    const stepped = `select app.enter_session(decode($1, 'hex'), $2)`
    await expectStepUp(sql, sessions.pending, async (seconds) => (await attempt(sql, stepped, [ticket, seconds])).code)
  },
})

/** The scope of a read is no scope to write in. */
export const readGuarantee = ({ own, sessions }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: app.enter_to_read needs a ticket with a tenant and a read-only transaction',
  holds: async (sql) => {
    const [read = ''] = ENTRIES
    const ticket = await ticketFor(sql, own)
    assert.equal((await attempt(sql, `select ${read}`, [ticket])).code, 'TN500', 'in a transaction that may write')
    const pending = await ticketOf(sql, sessions.pending)
    await unset(sql, async () => {
      await sql`set transaction read only`
      assert.equal((await attempt(sql, `select ${read}`, [pending])).code, 'TN500', 'without a tenant')
      assert.deepEqual(await attempt(sql, `select ${read}`, [ticket], true), { count: 1, code: '' })
      assert.equal(await tenantNow(sql), own)
      const writable = await attempt(sql, 'set transaction read write')
      assert.equal(writable.code, '25001', 'becoming read-write')
    })
  },
})

/** The tenant of the transaction is what an entry sealed. */
export const sealGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: app.current_tenant accepts no setting that this transaction did not seal',
  holds: async (sql) => {
    await enterTenant(sql, own)
    assert.equal(await tenantNow(sql), own)
    const set = (name: string, value: string) => sql`select set_config(${name}, ${value}, true)`
    for (const forge of [
      () => set('app.scope', other),
      () => set('app.scope', `${other}${own}`.replaceAll('-', '')),
      () => set('app.scope', `${own}${other}`.replaceAll('-', '')),
      // Who knows the seal of a message can compute the one of a longer message.
      async () => {
        const longer = `${own}${own}80`.replaceAll('-', '')
        const message = `s.scope_key || decode($1, 'hex') || timestamptz_send(transaction_timestamp())`
        await set(
          'app.scope_seal',
          await made(sql, `(select encode(sha256(${message}), 'hex') from app.seal s)`, [longer]),
        )
        await set('app.scope', longer)
      },
      () => set('app.scope_seal', '00'.repeat(32)),
      () => set('app.scope_seal', ''),
      () => set('app.scope_seal', randomBytes(32).toString('hex')),
    ]) {
      await sql`savepoint forged`
      await forge()
      assert.equal((await attempt(sql, 'select app.current_tenant()')).code, 'TN500')
      await sql`rollback to savepoint forged`
    }
    for (const role of LOGINS) {
      await as(sql, role, async () => {
        assert.equal((await attempt(sql, `select app.set_tenant('${other}')`)).code, REFUSED, role)
        assert.equal((await attempt(sql, 'table app.seal')).code, REFUSED, role)
      })
    }
  },
})

/** Who acts in the transaction. */
const actorNow = async (sql: postgres.Sql): Promise<string | null> =>
  (await sql<{ actor: string | null }[]>`select app.current_actor() as actor`)[0]?.actor ?? null

/** The actor of an audit entry is the user of the ticket. */
export const actorGuarantee = ({ own, sessions, users }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: an audit entry has the actor of the ticket, and no other role but the gate names one',
  holds: async (sql) => {
    const [, write = ''] = ENTRIES
    const [user = null, , stranger = null] = users.map(({ id }) => id)
    assert.equal(await actorNow(sql), null)
    for (const [ticket, actor] of [
      [await ticketOf(sql, sessions.own), user],
      [await ticketFor(sql, own), null],
    ] as const) {
      await unset(sql, async () => {
        assert.equal((await attempt(sql, `select ${write}`, [ticket], true)).code, '')
        assert.equal(await actorNow(sql), actor)
        for (const role of ['identity_app', 'identity_operator', 'identity_vault']) {
          const entry = (named: string) =>
            `insert into app.audit_log (tenant_id, ${named} action, target_type, request_id) values ($1, ${named && '$2,'} 'a.b', 'c', 'r')`
          for (const named of [user, stranger, null].filter((each) => each !== actor)) {
            const { code } = await as(sql, role, () => attempt(sql, entry('actor_user_id,'), [own, named]))
            assert.equal(code, REFUSED, `${role} for ${actor} as ${named}`)
          }
          await sql`savepoint entered`
          assert.equal((await as(sql, role, () => attempt(sql, entry(''), [own], true))).code, '', role)
          const made = () =>
            sql<{ id: string | null }[]>`select actor_user_id as id from app.audit_log where request_id = 'r'`
          assert.deepEqual([...(await as(sql, 'none', made))], [{ id: actor }], role)
          await sql`rollback to savepoint entered`
        }
      })
    }
    const ticket = await ticketOf(sql, sessions.own)
    await unset(sql, async () => {
      await sql`set transaction read only`
      await sql.unsafe(`select ${ENTRIES[0]}`, [ticket])
      assert.equal(await actorNow(sql), user)
    })
  },
})

/** A lease opens the tenant of its job while it lasts. */
export const leaseGuarantee = ({ own }: TwoTenants): Guarantee => ({
  title:
    'guarantee 8: a lease enters the tenant of its job until it ends, and only the claim returns it, to the login of its kind',
  holds: async (sql) => {
    const key = randomUUID()
    await as(
      sql,
      'none',
      () =>
        sql`insert into app.jobs (tenant_id, kind, payload, idempotency_key) values (${own}, 'planted-kind', '{}', ${key})`,
    )
    await enterTenant(sql, null)
    await as(sql, 'identity_worker', async () => {
      const claim = () => sql<{ id: string; lease_token: string }[]>`
        select id, lease_token from app.claim_jobs('planted-kind', 10, 60, 3)`
      const [job] = await claim()
      assert.ok(job)
      assert.equal((await claim()).length, 0, 'a leased job')
      const enter = `select app.enter_to_write(app.lease_ticket($1, $2), null, false)`
      const invented: [string, string][] = [
        [job.id, randomUUID()],
        [randomUUID(), job.lease_token],
      ]
      for (const lease of invented) assert.equal((await attempt(sql, enter, lease)).code, 'TN403')
      await sql`savepoint entered`
      assert.deepEqual(await attempt(sql, enter, [job.id, job.lease_token], true), { count: 1, code: '' })
      assert.equal(await tenantNow(sql), own)
      await sql`rollback to savepoint entered`
      for (const column of ['lease_token', 'payload', 'tenant_id']) {
        assert.equal((await attempt(sql, `select ${column} from app.jobs`)).code, REFUSED, column)
      }
      const end = (token: string) =>
        sql<{ ended: boolean }[]>`select app.end_lease(${job.id}, ${token}, null, null) as ended`
      const giveBack = (token: string) =>
        sql<{ ended: boolean }[]>`select app.return_job(${job.id}, ${token}, 'blocked') as ended`
      const renew = (token: string) =>
        sql<{ renewed: boolean }[]>`select app.renew_lease(${job.id}, ${token}, 60) as renewed`
      assert.deepEqual([...(await renew(randomUUID()))], [{ renewed: false }])
      assert.deepEqual([...(await renew(job.lease_token))], [{ renewed: true }])
      assert.deepEqual(
        [...(await end(randomUUID())), ...(await giveBack(randomUUID()))],
        [{ ended: false }, { ended: false }],
      )
      await sql`savepoint given_back`
      assert.deepEqual([...(await giveBack(job.lease_token))], [{ ended: true }])
      assert.equal((await attempt(sql, enter, [job.id, job.lease_token])).code, 'TN403', 'a lease that was given back')
      await sql`rollback to savepoint given_back`
      assert.deepEqual([...(await end(job.lease_token))], [{ ended: true }])
      assert.deepEqual([...(await renew(job.lease_token))], [{ renewed: false }], 'an ended lease')
      assert.equal((await attempt(sql, enter, [job.id, job.lease_token])).code, 'TN403', 'an ended lease')
    })
    const claimants = { mail: 'identity_mailer', event: 'identity_publisher', 'planted-kind': 'identity_worker' }
    for (const [kind, claimant] of Object.entries(claimants)) {
      for (const role of Object.values(claimants)) {
        const { code } = await as(sql, role, () => attempt(sql, `select app.claim_jobs('${kind}', 1, 60, 3)`))
        assert.equal(code, role === claimant ? '' : REFUSED, `${role} claims ${kind}`)
      }
    }
  },
})

/** The session check, and the choice of a tenant. */
export const checkGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: the session check finds live sessions alone, and a session selects a tenant of its user alone',
  holds: async (sql) => {
    for (const [why, id] of sessions.dead) assert.equal(await ticketOf(sql, id), '', why)
    assert.equal((await sql`select from app.authenticate(${randomBytes(32)}, 60)`).length, 0)
    const select = async (session: string, tenant: string): Promise<string[]> => {
      const ticket = Buffer.from(await ticketOf(sql, session), 'hex')
      const rows = await sql<
        { tenant_id: string }[]
      >`select tenant_id from app.select_tenant(${ticket}, ${tenant}, 60, row('r', null, null)::app.source)`
      return rows.map((row) => row.tenant_id)
    }
    assert.deepEqual(await select(sessions.pending, own), [own])
    assert.deepEqual(await select(sessions.pending, other), [other])
    assert.deepEqual(await select(sessions.single, other), [], 'a tenant of somebody else')
    assert.deepEqual(await select(sessions.single, randomUUID()), [], 'no tenant')
    const pending = await ticketOf(sql, sessions.pending)
    await as(sql, 'none', () => sql.unsafe(ASKING, [own]))
    assert.equal(await ticketOf(sql, sessions.own), '', 'a session without the second factor that its tenant asks for')
    const chosen = `select from app.select_tenant(decode($1, 'hex'), '${own}', 60, row('r', null, null)::app.source)`
    assert.equal((await attempt(sql, chosen, [pending])).code, 'TN427')
    await as(
      sql,
      'none',
      () => sql`update app.sessions set second_factor_at = now() where id in (${sessions.own}, ${sessions.pending})`,
    )
    assert.notEqual(await ticketOf(sql, sessions.own), '')
    assert.deepEqual(await attempt(sql, chosen, [pending]), { count: 1, code: '' })
  },
})

/** The operator's proof. */
export const operatorTicketGuarantee = ({ own }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: operators alone get a ticket for a tenant by its id, and need a reason',
  holds: async (sql) => {
    const issue = (reason: string) => attempt(sql, `select app.operator_ticket('${own}', '${reason}')`)
    for (const role of LOGINS.filter((name) => name !== 'identity_operator')) {
      assert.equal((await as(sql, role, () => issue('a test'))).code, REFUSED, role)
    }
    assert.equal((await as(sql, 'identity_operator', () => issue(''))).code, '22023')
    assert.equal((await as(sql, 'identity_operator', () => issue('a test'))).code, '')
  },
})

/** New keys end every scope and every ticket. */
export const renewalGuarantee = ({ own }: TwoTenants): Guarantee => ({
  title: 'guarantee 8: operators alone renew the seal, and then no earlier scope or ticket opens anything',
  holds: async (sql) => {
    const [, write = ''] = ENTRIES
    const ticket = await ticketFor(sql, own)
    await enterTenant(sql, own)
    for (const role of LOGINS.filter((name) => name !== 'identity_operator')) {
      assert.equal((await as(sql, role, () => attempt(sql, 'select app.renew_seal()'))).code, REFUSED, role)
    }
    const renewed = await as(sql, 'identity_operator', () => attempt(sql, 'select app.renew_seal()', [], true))
    assert.equal(renewed.code, '')
    assert.equal((await attempt(sql, 'select app.current_tenant()')).code, 'TN500')
    assert.equal((await attempt(sql, `select ${write}`, [ticket])).code, 'TN500')
    await unset(sql, async () => {
      await enterTenant(sql, own)
      assert.equal(await tenantNow(sql), own)
    })
  },
})

/** The policy of a tenant on second factors. */
export const policyGuarantee = ({ own, other, sessions }: TwoTenants): Guarantee => ({
  title:
    'guarantee 8: a policy on second factors needs a two-factor session, except to switch it off, with permission and step-up, and changes its own tenant',
  holds: async (sql) => {
    const change = (require: string, days: number) =>
      `select from app.change_second_factor_policy(decode($1, 'hex'), '${require}', ${days}, 60, row('r', null, null)::app.source)`
    const dates = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ id: string }[]>`
          select id from app.tenants where second_factor_managers_from is not null or second_factor_everyone_from is not null`
        return rows.map(({ id }) => id)
      })
    const ticket = await ticketOf(sql, sessions.single)
    await as(
      sql,
      'none',
      () => sql`update app.sessions set stepped_up_at = clock_timestamp() where id = ${sessions.single}`,
    )
    for (const forged of [NO_TICKET, '', ticket.slice(2), await ticketFor(sql, own)])
      assert.equal((await attempt(sql, change('none', 0), [forged])).code, 'TN500')
    for (const [why, id] of sessions.dead.filter(([of]) => of !== "a disabled user's"))
      assert.notEqual((await attempt(sql, change('none', 0), [await sealedTicket(sql, { session: id })])).code, '', why)
    for (const [require, days] of [
      ['nobody', 0],
      ['everyone', -1],
      ['everyone', 31],
    ] as const)
      assert.equal((await attempt(sql, change(require, days), [ticket])).code, '22023')
    assert.equal((await attempt(sql, change('managers', 9), [ticket])).code, 'TN427', 'a session with one factor')
    assert.equal((await attempt(sql, change('none', 0), [ticket])).code, '', 'it may switch the policy off')
    await as(sql, 'none', () => sql`update app.sessions set second_factor_at = now() where id = ${sessions.single}`)
    for (const [damage, code] of [
      [
        `update app.sessions set stepped_up_at = now() - interval '61 seconds' where id = '${sessions.single}'`,
        'TN428',
      ],
      [`update app.memberships set role_id = 7 where tenant_id = '${own}'`, 'TN403'],
      [`update app.memberships set revoked_at = now() where tenant_id = '${own}'`, 'TN401'],
    ] as const)
      await unset(sql, async () => {
        await as(sql, 'none', () => sql.unsafe(damage))
        assert.equal((await attempt(sql, change('everyone', 9), [ticket])).code, code)
      })
    const late = await expired(sql, ticket)
    assert.equal((await attempt(sql, change('everyone', 9), [late])).code, 'TN401')
    assert.equal((await attempt(sql, change('none', 0), [await ticketOf(sql, sessions.own)])).code, 'TN403', 'no owner')
    assert.deepEqual(await dates(), [])
    assert.deepEqual(await attempt(sql, change('everyone', 9), [ticket], true), { count: 1, code: '' })
    assert.deepEqual(await dates(), [own], 'not of another tenant')
    assert.notEqual(own, other)
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  change_second_factor_policy: policyGuarantee,
  renew_seal: renewalGuarantee,
  current_tenant: sealGuarantee,
  set_tenant: sealGuarantee,
  check_ticket: (world) => heldBy('identity_app', ticketGuarantee(world)),
  enter_session: enterSessionGuarantee,
  enter_to_read: readGuarantee,
  enter_to_write: ticketGuarantee,
  operator_ticket: operatorTicketGuarantee,
  lease_ticket: leaseGuarantee,
  claim_jobs: leaseGuarantee,
  renew_lease: leaseGuarantee,
  end_lease: leaseGuarantee,
  return_job: leaseGuarantee,
  authenticate: (world) => heldBy('identity_auth', checkGuarantee(world)),
  select_tenant: checkGuarantee,
}
