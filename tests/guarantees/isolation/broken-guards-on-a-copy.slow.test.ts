import { AssertionError } from 'node:assert'
import postgres from 'postgres'
import { describe, expect, inject, test } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { createTestDatabase, warmAppConnection } from '#tests/support/database.ts'
import { ticketFor } from '#tests/support/proof.ts'
import { CURRENT_TENANT, replaced } from './guard.ts'
import { type Guarantee, holdsAfter } from './guarantee.ts'
import { lastOwnerGuarantee, revocationGuarantee } from './member-guarantees.ts'
import { endsOnceGuarantee } from './role-guarantees.ts'
import { sealedRowsGuarantee } from './sealed-guarantees.ts'
import { SIGN_IN_RACES } from './sign-in-races.ts'
import { createTwoTenants, type TwoTenants } from './two-tenants.ts'

// Guards whose removal needs a database of its own: a constraint, a trigger, or what a connection keeps.
describe('on its own copy', () => {
  /** Removes a guard and expects a guarantee to break. Passes it two connections of identity_app. */
  async function breaks(
    statement: string | ((admin: postgres.Sql) => Promise<string>),
    holdsOn: (world: TwoTenants) => (app: postgres.Sql, second: postgres.Sql) => Promise<void>,
  ): Promise<void> {
    const copy = await createTwoTenants('as migrated')
    const app = await warmAppConnection(copy.database)
    const second = await warmAppConnection(copy.database)
    try {
      await holdsOn(copy)(app, second)
      await copy.admin.unsafe(typeof statement === 'string' ? statement : await statement(copy.admin))
      await expect(holdsOn(copy)(app, second)).rejects.toThrow(AssertionError)
    } finally {
      await Promise.all([app.end(), second.end()])
      await copy.close()
    }
  }

  test('without sessions_revocation_is_a_key_change a revocation overtakes a write', async () => {
    await breaks(
      'alter table app.sessions drop constraint sessions_revocation_is_a_key_change',
      (copy) => revocationGuarantee(copy).holds,
    )
  })

  const locks = SIGN_IN_RACES.flatMap(({ title, locks, holds }) =>
    locks.map(([name, lock]) => [name, lock, title, holds] as const),
  )
  test.each(locks)('without the lock of app.%s (%s) fails: %s', async (name, lock, _title, holds) => {
    const unlocked = async (admin: postgres.Sql) => {
      const [row] = await admin<{ text: string }[]>`select pg_get_functiondef(${`app.${name}`}::regproc) as text`
      return replaced(row?.text ?? '', lock, '')
    }
    await breaks(unlocked, (copy) => () => holds(copy))
  })

  /** Expects a guarantee to hold on a fresh database, and to break after each of the statements alone. */
  async function eachBreaks(
    prepare: (admin: postgres.Sql) => Promise<readonly [guarantee: Guarantee, statements: readonly string[]]>,
  ): Promise<void> {
    const database = await createTestDatabase()
    const admin = postgres(urlFor(inject('adminUrl'), { database: database.name }), { max: 1, onnotice: () => {} })
    const [guarantee, statements] = await prepare(admin)
    await holdsAfter(admin, [], guarantee)
    for (const statement of statements) {
      await expect(holdsAfter(admin, [statement], guarantee), statement).rejects.toThrow(AssertionError)
    }
    await admin.end()
    await database.drop()
  }

  test('without memberships_keep_an_owner, or a part of it, a tenant loses its last owner', () =>
    eachBreaks(async (admin) => {
      const [row] = await admin<{ tenant: string; definition: string }[]>`
        select id as tenant, pg_get_functiondef('app.keep_an_owner'::regproc) as definition from app.tenants limit 1`
      const { tenant = '', definition = '' } = row ?? {}
      const parts = [
        'drop trigger memberships_keep_an_owner on app.memberships',
        'alter table app.memberships disable trigger memberships_keep_an_owner',
        replaced(definition, 'm.role_id = 1', 'true'),
        replaced(definition, 'new.tenant_id = old.tenant_id and', ''),
        replaced(definition, 'new.role_id = 1 and', ''),
        replaced(definition, 'and new.accepted_at is not null', ''),
        replaced(definition, 'and new.revoked_at is null)', ')'),
        // The policy hides the users whom the tenant only invited.
        `${replaced(definition, 'and m.accepted_at is not null', '')}; alter policy people_of_tenant on app.users using (true)`,
        replaced(definition, 'and m.revoked_at is null)', ')'),
      ]
      return [lastOwnerGuarantee(tenant), parts]
    }))

  test('without one of the triggers, a session or a token lives again', () =>
    eachBreaks(async () => {
      const triggers = [
        'sessions_stay_ended',
        'tokens_stay_consumed',
        'tokens_expire_in_time',
        'users_resets_stay_void',
      ]
      return [endsOnceGuarantee, triggers.map((name) => `drop trigger ${name} on app.${name.split('_')[0]}`)]
    }))

  test('without vendor_accounts_key_is_usable or vendor_accounts_versions_grow, or a part of them, secrets move between keys', () =>
    eachBreaks(async (admin) => {
      const [own = '', other = ''] = (await admin<{ id: string }[]>`select id from app.tenants`).map(({ id }) => id)
      const [row] = await admin<{ grow: string }[]>`
        select pg_get_functiondef('app.secret_versions_grow'::regproc) as grow`
      const noKey = 'alter table app.vendor_accounts drop constraint vendor_accounts_key_is_usable'
      const parts = [
        noKey,
        `${noKey}, add foreign key (data_key_id) references app.data_keys (id)`,
        `alter table app.data_keys add unique (id, tenant_id);
         ${noKey}, add foreign key (data_key_id, tenant_id) references app.data_keys (id, tenant_id)`,
        `alter table app.data_keys add unique (id, usable);
         ${noKey}, add foreign key (data_key_id, data_key_usable) references app.data_keys (id, usable)`,
        'drop trigger vendor_accounts_versions_grow on app.vendor_accounts',
        'alter table app.vendor_accounts disable trigger vendor_accounts_versions_grow',
        replaced(row?.grow ?? '', 'new.secret_version < old.secret_version', 'false'),
      ]
      return [sealedRowsGuarantee([own, other]), parts]
    }))

  test('without the start of the transaction in the seal, a kept setting opens the next transaction', async () => {
    const copy = await createTwoTenants('as migrated')
    const app = await warmAppConnection(copy.database)
    const rowsByKeptSetting = async () => {
      const ticket = await ticketFor(copy.admin, copy.own)
      await app.begin(async (tx) => {
        await tx`select app.enter_to_write(${ticket}, null, false)`
        await tx`
          select set_config(name, current_setting(name), false) from unnest(array['app.scope', 'app.scope_seal']) as name`
      })
      return (await app`select from app.memberships`).length
    }
    try {
      await expect(rowsByKeptSetting()).rejects.toMatchObject({ code: 'TN500' })
      await app`reset all`
      for (const name of ['app.current_tenant', 'app.set_tenant']) {
        const [row] = await copy.admin<{ text: string }[]>`select pg_get_functiondef(${name}::regproc) as text`
        const part = 'operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())'
        await copy.admin.unsafe(replaced(row?.text ?? '', part, ''))
      }
      expect(await rowsByKeptSetting()).toBeGreaterThan(0)
    } finally {
      await app.end()
      await copy.close()
    }
  })

  test('without the nullif of current_tenant a reused connection fails', async () => {
    const copy = await createTwoTenants('as migrated')
    const [table] = copy.tables
    if (table === undefined) throw new Error('there is no tenant table')
    await copy.admin.unsafe(`${CURRENT_TENANT} return left(current_setting('app.scope', true), 32)::uuid`)
    const cold = postgres(copy.database.appUrl, { max: 1 })
    expect(await cold.unsafe(`table ${table.name}`)).toHaveLength(0)
    await cold.end()
    const warm = await warmAppConnection(copy.database)
    await expect(warm.unsafe(`table ${table.name}`)).rejects.toMatchObject({ code: '22P02' })
    await warm.end()
    await copy.close()
  })
})
