import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import {
  enterTenant,
  allowed,
  as,
  attempt,
  type Guarantee,
  type Outcome,
  REFUSED,
  tenantsOf,
  heldBy,
  type FunctionGuarantees,
} from './guarantee.ts'
import { unset } from './gate-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

const RECORD = `select app.record_opening($1, 'catalog', $2, null) as entry`
const OPEN = 'select * from app.open_vendor_secret($1, $2)'

/** Creates an account with a secret under a key, as a superuser, who may use another tenant's key. */
async function makeSealed(
  sql: postgres.Sql,
  { tenant, key, vendor = 'sanmar' }: { tenant: string; key: string; vendor?: string },
): Promise<{ id: string; sealed: Buffer }> {
  const made = { id: randomUUID(), sealed: randomBytes(109) }
  await as(sql, 'none', async () => {
    await sql`
      insert into app.vendor_accounts (id, tenant_id, vendor, account_number, status, sealed_secret, data_key_id)
      values (${made.id}, ${tenant}, ${vendor}, '1', 'verified', ${made.sealed}, ${key})`
  })
  return made
}

async function makeKey(sql: postgres.Sql, tenant: string): Promise<{ id: string; wrapped: Buffer }> {
  const made = { id: randomUUID(), wrapped: randomBytes(80) }
  await as(sql, 'none', async () => {
    await sql`
      insert into app.data_keys (id, tenant_id, purpose, kms_key_arn, wrapped_key, status)
      values (${made.id}, ${tenant}, 'vendor-credential', 'arn', ${made.wrapped}, 'decrypt_only')`
  })
  return made
}

/** The only way to an encrypted secret. Requires a connection that may become any role. */
export const sealedSecretGuarantee = ({ own, other }: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} serves the vault alone: a secret of the set tenant, for a committed audit entry`,
  holds: async (sql) => {
    const keys = { [own]: await makeKey(sql, own), [other]: await makeKey(sql, other) }
    const sealed = {
      [own]: await makeSealed(sql, { tenant: own, key: keys[own]?.id ?? '' }),
      [other]: await makeSealed(sql, { tenant: other, key: keys[other]?.id ?? '' }),
    }
    const crossed = await makeSealed(sql, { tenant: own, key: keys[other]?.id ?? '' })
    const erased = randomUUID()
    await as(sql, 'none', async () => {
      await sql`
        insert into app.vendor_accounts (id, tenant_id, vendor, account_number, status)
        values (${erased}, ${own}, 'sanmar', '1', 'revoked')`
    })
    const audited = (request: string) =>
      tenantsOf(sql, 'app.audit_log', `request_id = $1 and action = 'vendor_account.opened'`, [request])
    const open = (id: string, entry: string) => as(sql, 'identity_vault', () => attempt(sql, OPEN, [id, entry]))
    const entries: Record<string, string> = {}
    for (const tenant of [own, other]) {
      const { id = '', sealed: bytes } = sealed[tenant] ?? {}
      const request = randomUUID()
      await enterTenant(sql, tenant)
      const probe = await as(sql, 'identity_vault', () => attempt(sql, RECORD, [id, request]))
      assert.deepEqual(probe, { count: 1, code: '' }, 'its own')
      const [recorded] = await as(sql, 'identity_vault', () => sql.unsafe<{ entry: string }[]>(RECORD, [id, request]))
      const entry = recorded?.entry ?? ''
      assert.deepEqual(await open(id, entry), { count: 0, code: '' }, 'an entry of this transaction')
      // An entry that another transaction committed is older than this transaction.
      const age = (seconds: number) =>
        as(
          sql,
          'none',
          () => sql`
          update app.audit_log set occurred_at = now() - make_interval(secs => ${seconds}) where id = ${entry}`,
        )
      await age(31)
      assert.deepEqual(await open(id, entry), { count: 0, code: '' }, 'an old entry')
      await age(1)
      const [row] = await as(sql, 'identity_vault', () => sql.unsafe(OPEN, [id, entry]))
      assert.deepEqual([row?.['sealed_secret'], row?.['wrapped_key']], [bytes, keys[tenant]?.wrapped])
      assert.deepEqual(await open(id, randomUUID()), { count: 0, code: '' }, 'an entry that does not exist')
      assert.deepEqual(await audited(request), [tenant], 'one audit entry')
      entries[tenant] = entry
    }
    await enterTenant(sql, own)
    const second = await makeSealed(sql, { tenant: own, key: keys[own]?.id ?? '' })
    assert.deepEqual(await open(second.id, entries[own] ?? ''), { count: 0, code: '' }, "another account's entry")
    const [planted] = await as(
      sql,
      'none',
      () => sql<{ id: string }[]>`
      insert into app.audit_log (tenant_id, action, target_type, target_id, occurred_at)
      values (${own}, 'vendor_account.opened', 'vendor_account', ${crossed.id}, now() - interval '1 second') returning id`,
    )
    assert.deepEqual(await open(crossed.id, planted?.id ?? ''), { count: 0, code: '' }, "another tenant's key")
    const nothing = async (tenant: string | null, ids: readonly string[]) => {
      const request = randomUUID()
      await enterTenant(sql, tenant)
      for (const id of ids) {
        const [recorded] = await as(sql, 'identity_vault', () => sql.unsafe(RECORD, [id, request]))
        assert.equal(recorded?.['entry'] ?? null, null, `${id} [${tenant}]`)
        for (const entry of Object.values(entries)) {
          assert.deepEqual(await open(id, entry), { count: 0, code: '' }, `${id} [${tenant}]`)
        }
      }
      assert.deepEqual(await audited(request), [], 'no audit entry')
    }
    const every = [sealed[own]?.id ?? '', sealed[other]?.id ?? '', crossed.id, erased, randomUUID()]
    await nothing(null, every)
    await nothing(randomUUID(), every)
    await nothing(own, every.slice(1))
    await nothing(other, [every[0] ?? '', ...every.slice(2)])
    for (const role of ['identity_app', 'identity_worker', 'identity_operator']) {
      await enterTenant(sql, own)
      for (const [call, second] of [
        [OPEN, entries[own] ?? ''],
        [RECORD, 'x'],
      ] as const) {
        const opened = await as(sql, role, () => attempt(sql, call, [every[0] ?? '', second]))
        assert.deepEqual(opened, { count: 0, code: REFUSED }, role)
      }
    }
  },
})

const RECORD_FOR_SERVICE = `select * from app.record_opening_for_service($1, $2, 'a-service', 'a reason', $3)`
const OPEN_FOR_SERVICE = 'select * from app.open_secret_for_service($1, $2, $3)'

interface Recorded {
  readonly entry_id: string | null
  readonly account_id: string | null
  readonly retry_after_seconds: number | null
}

/** How another service gets a secret: as identity_opener, which enters no tenant. */
export const serviceOpeningGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a service opens a secret of an open tenant, for a committed audit entry, and at most 60 a minute',
  holds: async (sql) => {
    const vendor = 'planted-vendor'
    const change = (statement: string, parameters: (string | null)[] = []) =>
      as(sql, 'none', () => sql.unsafe(statement, parameters))
    const left = async (what: string) => {
      const [row] = await change(`select coalesce(current_setting('app.scope', true), '') as scope`)
      assert.equal(row?.['scope'], '', `${what} leaves the tenant`)
    }
    const record = async (tenant: string, of = vendor): Promise<Recorded & { audited: string[] }> => {
      const request = randomUUID()
      const [row] = await sql.unsafe<Recorded[]>(RECORD_FOR_SERVICE, [tenant, of, request])
      await left('recording')
      const audited = await tenantsOf(
        sql,
        'app.audit_log',
        `request_id = $1 and action = 'vendor_account.opened' and actor_user_id is null
           and after @> '{"service":"a-service","reason":"a reason","secret_version":1}'`,
        [request],
      )
      assert.ok(row)
      return { ...row, audited: audited.map(String) }
    }
    const nothing = async (tenant: string, why: string, of = vendor) => {
      const none = { entry_id: null, account_id: null, retry_after_seconds: null, audited: [] }
      assert.deepEqual(await record(tenant, of), none, why)
    }
    const open = (tenant: string, account: string, entry: string) =>
      sql.unsafe<{ sealed_secret: Buffer }[]>(OPEN_FOR_SERVICE, [tenant, account, entry])
    await unset(sql, async () => {
      await change(`insert into app.vendors (code, name, adapter) values ($1, 'Planted', 'promostandards')`, [vendor])
      await nothing(own, 'no account')
      const key = { own: (await makeKey(sql, own)).id, other: (await makeKey(sql, other)).id }
      const foreign = await makeSealed(sql, { tenant: other, key: key.other, vendor })
      await change('update app.vendor_accounts set verified_at = now() where id = $1', [foreign.id])
      await nothing(own, "another tenant's account")
      const { id, sealed } = await makeSealed(sql, { tenant: own, key: key.own, vendor })
      await nothing(own, 'another vendor', 'no-such-vendor')
      await nothing(randomUUID(), 'no tenant')
      const { entry_id: entry, account_id: account, audited } = await record(own)
      assert.deepEqual([account, audited], [id, [own]])
      const age = (seconds: number) =>
        change(`update app.audit_log set occurred_at = now() - interval '${seconds} s' where id = $1`, [entry])
      assert.equal((await open(own, id, entry ?? '')).length, 0, 'an entry of this transaction')
      await age(31)
      assert.equal((await open(own, id, entry ?? '')).length, 0, 'an old entry')
      await age(1)
      assert.deepEqual((await open(own, id, entry ?? ''))[0]?.sealed_secret, sealed)
      await left('opening')
      for (const [tenant, of] of [
        [other, id],
        [other, foreign.id],
        [own, foreign.id],
      ] as const)
        assert.equal((await open(tenant, of, entry ?? '')).length, 0, "another account's entry")
      for (const closed of [`status = 'suspended'`, 'deleted_at = now()'])
        await unset(sql, async () => {
          await change(`update app.tenants set ${closed} where id = $1`, [own])
          await nothing(own, closed)
        })
      for (const unusable of [
        `last_error = 'refused'`,
        `status = 'revoked', revoked_at = now(), sealed_secret = null, data_key_id = null`,
      ])
        await unset(sql, async () => {
          await change(`update app.vendor_accounts set ${unusable} where id = $1`, [id])
          await nothing(own, unusable)
        })
      // Also the next minute, which may begin now.
      await change(
        `insert into app.rate_limits as r (key, window_start, attempts)
         select sha256($1::bytea || uuid_send($2::uuid)),
                date_bin('1 minute', clock_timestamp() + n * interval '1 minute', '2000-01-01 00:00:00Z'), 60
           from generate_series(0, 1) as n
         on conflict (key, window_start) do update set attempts = excluded.attempts`,
        ['open-credential', own],
      )
      const { retry_after_seconds: seconds, ...limited } = await record(own)
      assert.deepEqual(limited, { entry_id: null, account_id: null, audited: [] }, 'the 61st')
      assert.ok(seconds !== null && seconds > 0)
      assert.equal((await record(other)).account_id, foreign.id, 'the limit of another tenant')
    })
    for (const role of ['identity_app', 'identity_worker', 'identity_vault', 'tenant_bound'])
      for (const call of [RECORD_FOR_SERVICE, OPEN_FOR_SERVICE])
        assert.equal(
          (await as(sql, role, () => attempt(sql, call, [own, randomUUID(), randomUUID()]))).code,
          REFUSED,
          `${role}: ${call}`,
        )
  },
})

/** The role that handles encrypted secrets and data keys. */
export const vaultGuarantee = ({ own, other, tables }: TwoTenants): Guarantee => ({
  title: 'guarantee 1: the vault sees and writes rows of the set tenant alone, in its own tables',
  holds: async (sql) => {
    const readable = new Set<string>()
    for (const tenant of [null, own, other]) {
      for (const table of tables) {
        const rows = (
          await tenantsOf(sql, `(select ${table.column} as tenant_id from ${table.name}) t`, 'true', [])
        ).filter((of) => of === tenant).length
        await enterTenant(sql, tenant)
        await as(sql, 'identity_vault', async () => {
          const { name, column } = table
          const mayRead = await allowed(sql, table, 'select')
          if (mayRead) readable.add(name)
          const expected: Outcome = mayRead
            ? { count: tenant === null ? 0 : rows, code: '' }
            : { count: 0, code: REFUSED }
          assert.deepEqual(await attempt(sql, `select ${column} from ${name}`), expected, `${name} [${tenant}]`)
          for (const statement of [
            `delete from ${name}`,
            `truncate ${name}`,
            `update ${name} set ${column} = '${own}'`,
          ]) {
            assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
          }
        })
      }
      const expectOf = async (statement: string, expected: Outcome) =>
        assert.deepEqual(await attempt(sql, statement), expected, `${statement} [${tenant}]`)
      const ofTenant = async (table: string) =>
        tenant === null ? 0 : (await tenantsOf(sql, table, 'tenant_id = $1', [tenant])).length
      const [keys, accounts] = [await ofTenant('app.data_keys'), await ofTenant('app.vendor_accounts')]
      await enterTenant(sql, tenant)
      await as(sql, 'identity_vault', async () => {
        // Without a WHERE no column is read, so only the policy for UPDATE protects the other rows.
        await expectOf('update app.data_keys set retired_at = now()', { count: keys, code: '' })
        await expectOf('update app.vendor_accounts set checked_at = now()', { count: accounts, code: '' })
        for (const target of [own, other]) {
          const expected = target === tenant ? { count: 1, code: '' } : { count: 0, code: REFUSED }
          const id = randomUUID()
          await expectOf(
            `insert into app.data_keys (id, tenant_id, purpose, kms_key_arn) values ('${id}', '${target}', '${id}', 'arn')`,
            expected,
          )
          await expectOf(
            `insert into app.audit_log (tenant_id, action, target_type) values ('${target}', 'data_key.rotated', 'data_key')`,
            expected,
          )
        }
      })
    }
    assert.deepEqual([...readable], ['app.data_keys', 'app.vendor_accounts'])
  },
})

const SECRETS: Readonly<Record<string, readonly string[]>> = {
  identity_app: [
    'table app.vendor_accounts',
    'select sealed_secret from app.vendor_accounts',
    'select data_key_id from app.vendor_accounts',
    'select from app.vendor_accounts where sealed_secret is not null',
    'update app.vendor_accounts set checked_at = now() returning sealed_secret',
    'update app.vendor_accounts set checked_at = now() where data_key_id is not null',
    'update app.vendor_accounts set sealed_secret = sealed_secret',
    'update app.vendor_accounts set account_number = 1',
    'delete from app.vendor_accounts',
    'table app.data_keys',
    'select id from app.data_keys',
    'select from app.data_keys',
    'select count(*) from app.data_keys',
    'insert into app.data_keys default values',
    `update app.data_keys set status = 'destroyed'`,
    'delete from app.data_keys',
    OPEN,
  ],
  identity_vault: [
    'table app.vendor_accounts',
    'select sealed_secret from app.vendor_accounts',
    'select from app.vendor_accounts where sealed_secret is not null',
    'update app.vendor_accounts set checked_at = now() returning sealed_secret',
    'update app.vendor_accounts set secret_version = 1',
    'insert into app.vendor_accounts default values',
    'delete from app.vendor_accounts',
    'delete from app.data_keys',
    'table app.audit_log',
    'select from app.sessions',
    'select from app.tokens',
    'select from app.users',
    'select from app.memberships',
    'select from app.jobs',
    'select from app.tenants',
  ],
}
const NONE_OF_IT = [
  'select from app.vendor_accounts',
  'select id from app.vendor_accounts',
  'update app.vendor_accounts set checked_at = now()',
  'insert into app.vendor_accounts default values',
  'select from app.data_keys',
  'update app.data_keys set retired_at = now()',
  'insert into app.data_keys default values',
  OPEN,
]

/** Which role may read what of vendor secrets. Requires a connection that may become any role. */
export const sealedColumnsGuarantee = ({ own }: TwoTenants): Guarantee => ({
  title: 'identity_app reads no encrypted secret or data key, the vault only through its function, other roles nothing',
  holds: async (sql) => {
    const refused = { ...SECRETS, identity_worker: NONE_OF_IT, identity_operator: NONE_OF_IT }
    for (const tenant of [null, own]) {
      await enterTenant(sql, tenant)
      for (const [role, statements] of Object.entries(refused)) {
        await as(sql, role, async () => {
          for (const statement of statements) {
            const parameters = statement === OPEN ? [randomUUID(), null] : []
            assert.equal((await attempt(sql, statement, parameters)).code, REFUSED, `${role}: ${statement}`)
          }
        })
      }
    }
  },
})

/** The promises of the foreign key and the trigger. Requires a database with both. */
export const sealedRowsGuarantee = ([own, other]: readonly [string, string]): Guarantee => ({
  title:
    "rejects a secret under another tenant's or a destroyed key, destroying a key in use, and a lower secret version",
  holds: async (sql) => {
    const [key, others, gone] = [await makeKey(sql, own), await makeKey(sql, other), await makeKey(sql, own)]
    const destroy = (id: string) =>
      attempt(sql, `update app.data_keys set status = 'destroyed', wrapped_key = null where id = $1`, [id], true)
    await enterTenant(sql, own)
    await as(sql, 'identity_vault', async () => assert.deepEqual(await destroy(gone.id), { count: 1, code: '' }))
    const insert = (keyId: string) =>
      attempt(
        sql,
        `insert into app.vendor_accounts (id, tenant_id, vendor, account_number, status, sealed_secret, data_key_id)
         values (gen_random_uuid(), $1, 'sanmar', '1', 'verified', convert_to(repeat('x', 109), 'UTF8'), $2)`,
        [own, keyId],
        true,
      )
    assert.deepEqual(await insert(key.id), { count: 1, code: '' })
    const foreign: Outcome = { count: 0, code: '23503' }
    for (const [what, id] of [
      ["another tenant's", others.id],
      ['a destroyed', gone.id],
      ['no', randomUUID()],
    ] as const) {
      const under = `update app.vendor_accounts set data_key_id = $1 where tenant_id = $2 and status <> 'revoked'`
      assert.deepEqual(await insert(id), foreign, `${what} key`)
      assert.deepEqual(await attempt(sql, under, [id, own]), foreign, `${what} key, later`)
      await as(sql, 'identity_vault', async () =>
        assert.deepEqual(await attempt(sql, under, [id, own]), foreign, `${what} key, by the vault`),
      )
    }
    await as(sql, 'identity_vault', async () => assert.deepEqual(await destroy(key.id), foreign, 'a key in use'))
    await as(sql, 'none', async () => assert.deepEqual(await destroy(key.id), foreign, 'a key in use, by a superuser'))
    const version = (to: number) =>
      attempt(
        sql,
        `update app.vendor_accounts set secret_version = ${to} where tenant_id = $1 and status <> 'revoked'`,
        [own],
        true,
      )
    assert.deepEqual(await version(3), { count: 1, code: '' })
    assert.deepEqual(await version(2), { count: 0, code: '23514' })
    assert.deepEqual(await as(sql, 'none', () => version(2)), { count: 0, code: '23514' })
    assert.deepEqual(await version(3), { count: 1, code: '' })
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  record_opening: sealedSecretGuarantee,
  open_vendor_secret: sealedSecretGuarantee,
  record_opening_for_service: (world) => heldBy('identity_opener', serviceOpeningGuarantee(world)),
  open_secret_for_service: serviceOpeningGuarantee,
}
