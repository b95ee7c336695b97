import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import postgres from 'postgres'
import { errorCode } from '#shared/db/failure.ts'
import { createOrdersSchema } from '#tests/consumer/orders-database.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { createTenantWith, type TestTenant } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'

// What the holder of a ticket or a proof tries with the scope that it enters. Each attempt is one message of the simple protocol, which
// may hold several transactions with one start.

const database = await createTestDatabase()
const { admin } = database
const service = postgres(await createOrdersSchema(admin, database.appUrl), { max: 1, onnotice: () => {} })
const app = postgres(database.appUrl, { max: 1, onnotice: () => {} })
let tenant: TestTenant<'sales' | 'viewer'>
let proof = ''
let ticket = ''

beforeAll(async () => {
  tenant = await createTenantWith(admin, 'sales', 'viewer')
  await admin.unsafe(`
    create schema planted;
    create table planted.notes (tenant_id uuid not null default app.current_tenant(), note text);
    select app.enforce_tenant('planted.notes');
    insert into planted.notes values ('${tenant.id}', 'kept');
    grant usage on schema planted to identity_app, orders_app;
    grant select, insert, update, delete on planted.notes to identity_app, orders_app`)
})
afterAll(async () => {
  await service.end()
  await app.end()
  await database.drop()
})

const KEEP = `
  select set_config('kept.scope', current_setting('app.scope'), false), set_config('kept.seal', current_setting('app.scope_seal'), false)`
const USE = `
  select set_config('app.scope', current_setting('kept.scope'), true), set_config('app.scope_seal', current_setting('kept.seal'), true)`

/** A way from the scope of a read to a write. `ENTER` enters to read, and `WRITE` writes a row. */
const WAYS: Readonly<Record<string, string>> = {
  'a savepoint that only reads':
    'begin; savepoint s; set transaction read only; ENTER; release savepoint s; WRITE; commit',
  'a savepoint inside of another':
    'begin; savepoint r; savepoint s; set transaction read only; ENTER; release savepoint r; savepoint t; WRITE; commit',
  'a block with an exception': `do $$ begin
       begin set transaction read only; execute $x$ENTER$x$; exception when division_by_zero then null; end;
       WRITE; end $$`,
  'several transactions in one message': `begin read only; ENTER; ${KEEP}; commit; begin; ${USE}; WRITE; commit`,
  'several transactions in one message, the second by AND CHAIN': `begin read only; ENTER; ${KEEP}; commit and chain; set transaction read write; ${USE}; WRITE; commit`,
}

const LOGINS = {
  'a route group': {
    send: (text: string) => app.unsafe(text),
    enter: () => `select app.enter_to_read('\\x${ticket}')`,
    write: () =>
      `insert into app.audit_log (tenant_id, action, target_type, request_id) values ('${tenant.id}', 'a.b', 'c', 'planted')`,
    written: () => admin`select from app.audit_log where tenant_id = ${tenant.id} and request_id = 'planted'`,
  },
  'another service': {
    send: (text: string) => service.unsafe(text),
    enter: () => `select app.enter('\\x${proof}', null)`,
    write: () => `insert into orders.orders (title) values ('planted')`,
    written: () => admin`select from orders.orders where tenant_id = ${tenant.id} and title = 'planted'`,
  },
}

const SETTINGS = `select current_setting('app.scope') as scope, current_setting('app.scope_seal') as seal`
const set = (kept: postgres.Row | undefined) =>
  `select set_config('app.scope', '${kept?.['scope']}', true), set_config('app.scope_seal', '${kept?.['seal']}', true)`

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return ''
  } catch (error) {
    return errorCode(error)
  }
}

describe.each(Object.values(LOGINS).map((login, n) => [Object.keys(LOGINS)[n] ?? '', login] as const))(
  'a ticket or proof of a viewer, with %s',
  (login, { send, enter, write, written }) => {
    beforeAll(async () => {
      const read = await ticketOf(admin, tenant.viewer.id)
      ticket = read.toString('hex')
      const [row] = await admin<{ proof: Buffer }[]>`select app.service_proof(${read}) as proof`
      proof = row?.proof.toString('hex') ?? ''
    })

    it.each(Object.entries(WAYS))('entered to read, writes nothing by %s', async (_way, text) => {
      // A function, because `$` in a replacement has a meaning.
      const filled = text.replaceAll('ENTER', enter).replaceAll('WRITE', write)
      expect(await outcomeOf(send(filled))).toBe('TN500')
      await send('rollback')
      expect(await written()).toHaveLength(0)
    })

    // Postgres looks at the mode when a statement begins, and the policies of a write when it writes.
    const changing = (text: string) =>
      text.replace(
        'ENTERED',
        () => `(select count(*) from (select set_config('transaction_read_only', 'on', true) as mode) m,
                  lateral (${enter()} where m.mode = 'on') e) = 1`,
      )

    it.each([
      ['inserts', `insert into planted.notes (note) select 'planted' where ENTERED`, '42501'],
      ['updates', `update planted.notes set note = 'planted' where ENTERED`, '42501'],
      ['deletes', 'delete from planted.notes where ENTERED', ''],
    ])('entered to read by a statement that first changes the mode, %s nothing by it', async (_kind, text, code) => {
      expect(await outcomeOf(send(changing(text)))).toBe(code)
      expect(await admin`select note from planted.notes where tenant_id = ${tenant.id}`).toEqual([{ note: 'kept' }])
    })

    if (login === 'a route group')
      it('entered to read by a statement that first changes the mode, ends no session by it', async () => {
        expect(await outcomeOf(send(changing('update app.sessions set revoked_at = now() where ENTERED')))).toBe(
          '42501',
        )
      })

    it('entered to read, writes nothing by settings that are kept over a savepoint', async () => {
      await send(`begin; savepoint s; set transaction read only; ${enter()}`)
      const [kept] = await send(SETTINGS)
      await send('rollback to savepoint s')
      await send(set(kept))
      expect(await outcomeOf(send(write()))).toBe('TN500')
      await send('rollback')
      expect(await written()).toHaveLength(0)
    })

    it('entered to read, reads in the mode of its transaction alone', async () => {
      const tenantNow = 'select app.current_tenant() as tenant'
      await send('begin; savepoint s; set transaction read only')
      await send(enter())
      const [inside] = await send(tenantNow)
      expect(inside?.['tenant']).toBe(tenant.id)
      await send('release savepoint s')
      expect(await outcomeOf(send(tenantNow))).toBe('TN500')
      await send('rollback')
    })
  },
)

// migrations/README.md says what the holder of a proof can do while it lives. Injected SQL holds none.
describe('a proof is a right of its holder, who', () => {
  const live = () => admin`select from app.sessions s where s.id = ${tenant.sales.id} and s.revoked_at is null`
  const proofOfSales = async () => {
    const [row] = await admin<{ proof: string }[]>`
      select encode(app.service_proof(${await ticketOf(admin, tenant.sales.id)}), 'hex') as proof`
    return row?.proof ?? ''
  }

  it('keeps the scope of a write and gives its locks back by a savepoint', async () => {
    const held = await proofOfSales()
    await service.unsafe(`begin; savepoint s; select app.enter('\\x${held}', 'customer.write')`)
    const [kept] = await service.unsafe(SETTINGS)
    await service.unsafe(`rollback to savepoint s; ${set(kept)}`)
    // No lock delays the end of the session, and the tenant is still the one of the proof.
    await admin`update app.sessions set revoked_at = now() where id = ${tenant.sales.id}`
    expect(await live()).toHaveLength(0)
    const [row] = await service`select app.current_tenant() as tenant`
    expect(row?.['tenant']).toBe(tenant.id)
    await service.unsafe('rollback')
    expect(await outcomeOf(service.unsafe(`begin; select app.enter('\\x${held}', 'customer.write')`))).toBe('TN401')
    await service.unsafe('rollback')
  })
})

// A parallel worker does not know that its transaction only reads.
describe('a parallel plan over a guarded table', () => {
  const FORCED = [
    'set local min_parallel_table_scan_size = 0',
    'set local parallel_setup_cost = 0',
    'set local parallel_tuple_cost = 0',
    'set local max_parallel_workers_per_gather = 2',
    'set local enable_indexscan = off',
    'set local enable_indexonlyscan = off',
    'set local enable_bitmapscan = off',
  ].join(';')
  const COUNT = 'select count(*)::int as rows from app.memberships'
  const QUERIES = [COUNT, `select (select app.current_actor()), (${COUNT})`, `select * from (${COUNT}) a, (${COUNT}) b`]

  it.each(
    (['read only', 'read write'] as const).flatMap((mode) =>
      ['off', 'on'].flatMap((forced) => QUERIES.map((query) => ({ mode, forced, query }))),
    ),
  )(
    'reads its tenant in a $mode transaction, with debug_parallel_query $forced: $query',
    async ({ mode, forced, query }) => {
      const read = (await ticketOf(admin, tenant.viewer.id)).toString('hex')
      await app.unsafe(`begin ${mode}`)
      await app.unsafe(
        mode === 'read only'
          ? `select app.enter_to_read('\\x${read}')`
          : `select app.enter_to_write('\\x${read}', 'catalog.read', false)`,
      )
      await app.unsafe(`${FORCED}; set local debug_parallel_query = ${forced}`)
      const plan = JSON.stringify(await app.unsafe(`explain ${query}`))
      expect(plan).toContain('Workers Planned')
      const [members] = await admin`select count(*)::int as rows from app.memberships where tenant_id = ${tenant.id}`
      const [row] = await app.unsafe(query)
      expect(Object.values(row ?? {}).at(-1)).toBe(members?.['rows'])
      await app.unsafe('rollback')
    },
  )
})
