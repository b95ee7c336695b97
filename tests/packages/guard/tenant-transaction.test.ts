import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import type { Permission } from '@tenantry/guard'
import type { TransactionOptions } from '@tenantry/guard/pg'
import * as pg from '@tenantry/guard/pg'
import * as postgresJs from '@tenantry/guard/postgres'
import { createOrdersSchema } from '#tests/consumer/orders-database.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { createTenantWith, type TestTenant } from '#tests/support/minted-session.ts'

const database = await createTestDatabase()
const { admin } = database
const url = new URL(await createOrdersSchema(admin, database.appUrl))
const wire = await startPostgresWire({ host: url.hostname, port: Number(url.port) })
url.port = String(wire.port)
url.hostname = '127.0.0.1'

interface Work {
  readonly run: (text: string, values?: string[]) => Promise<Record<string, unknown>[]>
}

/** The same helpers of both drivers. */
const sql = postgres(url.href, { max: 1, onnotice: () => {} })
const pool = new Pool({ connectionString: url.href, max: 2, pipeline: true })
pool.on('error', () => {})
type Proven = { readonly proof: string }
const DRIVERS = {
  'postgres.js': {
    read: <T>(of: Proven, work: (sql: Work) => Promise<T>, options?: TransactionOptions) =>
      postgresJs.readInTenant(
        sql,
        of,
        (tx) => work({ run: (text, values) => tx.unsafe(text, values, { prepare: true }) }),
        options,
      ),
    write: <T>(of: Proven, permission: Permission, work: (sql: Work) => Promise<T>, options?: TransactionOptions) =>
      postgresJs.writeInTenant(
        sql,
        of,
        permission,
        (tx) => work({ run: (text, values) => tx.unsafe(text, values, { prepare: true }) }),
        options,
      ),
    unscoped: async (text: string) => void (await sql.unsafe(text)),
  },
  pg: {
    read: <T>(of: Proven, work: (sql: Work) => Promise<T>, options?: TransactionOptions) =>
      pg.readInTenant(
        pool,
        of,
        (client) => work({ run: async (text, values) => (await client.query(text, values)).rows }),
        options,
      ),
    write: <T>(of: Proven, permission: Permission, work: (sql: Work) => Promise<T>, options?: TransactionOptions) =>
      pg.writeInTenant(
        pool,
        of,
        permission,
        (client) => work({ run: async (text, values) => (await client.query(text, values)).rows }),
        options,
      ),
    unscoped: async (text: string) => void (await pool.query(text)),
  },
} as const

let tenant: TestTenant<'sales' | 'viewer'>
let other: TestTenant<'sales'>
beforeAll(async () => {
  tenant = await createTenantWith(admin, 'sales', 'viewer')
  other = await createTenantWith(admin, 'sales')
})
afterAll(async () => {
  await sql.end()
  await pool.end()
  await wire.close()
  await database.drop()
})

/** What `authorize` returns for a session, of which the database needs only the proof. */
async function proofOf({ id }: { id: string }): Promise<Proven> {
  const [row] = await admin<{ proof: Buffer }[]>`
    select app.service_proof(a.ticket) as proof from app.sessions s, app.authenticate(s.token_key, 60) a where s.id = ${id}`
  return { proof: row?.proof.toString('base64url') ?? '' }
}

const PERMISSION = 'customer.write'
const ADD = 'insert into orders.orders (title) values ($1) returning title'
const LIST = 'select title, tenant_id, created_by from orders.orders order by created_at'

describe.each(Object.entries(DRIVERS))('a transaction in a tenant, with %s', (driver, { read, write, unscoped }) => {
  const orders = () => admin<{ title: string }[]>`select title from orders.orders where title like ${`${driver}%`}`

  it('reads and writes the rows of its tenant alone, in two round trips', async () => {
    const [mine, theirs] = [await proofOf(tenant.sales), await proofOf(other.sales)]
    const add = (of: Proven, title: string) => write(of, PERMISSION, ({ run }) => run(ADD, [title]))
    expect(await add(mine, `${driver} of mine`)).toEqual([{ title: `${driver} of mine` }])
    await add(theirs, `${driver} of theirs`)
    const list = () => read(mine, ({ run }) => run(LIST))
    expect((await list()).filter(({ title }) => String(title).startsWith(driver))).toEqual([
      { title: `${driver} of mine`, tenant_id: tenant.id, created_by: tenant.sales.userId },
    ])
    for (const request of [list, () => add(mine, `${driver} again`)]) {
      const before = wire.counts().roundTrips
      await request()
      expect(wire.counts().roundTrips - before).toBe(2)
    }
  })

  it.each([
    ['an ended session', 401, 'update app.sessions set revoked_at = now() where id = $1'],
    [
      'another role',
      403,
      'update app.memberships set role_id = 7 where user_id = (select user_id from app.sessions where id = $1)',
    ],
  ])('refuses %s with %i, and commits nothing', async (_what, status, change) => {
    const { sales } = await createTenantWith(admin, 'sales')
    const proven = await proofOf(sales)
    const before = (await orders()).length
    await write(proven, PERMISSION, ({ run }) => run(ADD, [`${driver} before`]))
    await admin.unsafe(change, [sales.id])
    await expect(write(proven, PERMISSION, ({ run }) => run(ADD, [`${driver} late`]))).rejects.toMatchObject({ status })
    await expect(read(proven, ({ run }) => run(LIST))).rejects.toMatchObject({ status })
    expect(await orders()).toHaveLength(before + 1)
  })

  it('refuses a step-up that is too old with 403 step-up-required, after the permission, and commits nothing', async () => {
    const { sales, viewer } = await createTenantWith(admin, 'sales', 'viewer')
    for (const { id } of [sales, viewer])
      await admin`update app.sessions set stepped_up_at = now() - interval '61 seconds' where id = ${id}`
    const proven = await proofOf(sales)
    const before = (await orders()).length
    const add = ({ run }: Work) => run(ADD, [`${driver} with a step-up`])
    const refused = { name: 'TenantRefused', status: 403, slug: 'step-up-required' }
    await expect(write(proven, PERMISSION, add, { stepUpSeconds: 60 })).rejects.toMatchObject(refused)
    await expect(read(proven, ({ run }) => run(LIST), { stepUpSeconds: 60 })).rejects.toMatchObject(refused)
    const unpermitted = write(await proofOf(viewer), PERMISSION, add, { stepUpSeconds: 60 })
    await expect(unpermitted).rejects.toMatchObject({ status: 403, slug: null })
    await expect(write(proven, PERMISSION, add, { stepUpSeconds: 3601 })).rejects.toThrow(RangeError)
    expect(await orders()).toHaveLength(before)
    expect(await write(proven, PERMISSION, add, { stepUpSeconds: 120 })).toHaveLength(1)
  })

  it('refuses a role without the permission with 403, and a proof that this database did not seal with 503', async () => {
    const viewer = await proofOf(tenant.viewer)
    const nothing = ({ run }: Work) => run('select 1')
    await expect(write(viewer, PERMISSION, nothing)).rejects.toMatchObject({ status: 403 })
    expect(await read(viewer, nothing)).toHaveLength(1)
    for (const proof of ['', 'forged', viewer.proof.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))])
      await expect(read({ proof }, nothing)).rejects.toMatchObject({ status: 503, name: 'TenantRefused' })
  })

  it.each(['deal.wirte', '', '*', 'deal', 'DEAL.READ', 'deal.read '])(
    'refuses everybody the permission %j, which no role of the platform has, with 403',
    async (missing) => {
      const { owner, sales } = await createTenantWith(admin, 'owner', 'sales')
      for (const session of [owner, sales]) {
        const proven = await proofOf(session)
        const writing = write(proven, missing as Permission, ({ run }) => run(ADD, [`${driver} of no permission`]))
        await expect(writing).rejects.toMatchObject({ status: 403 })
        const { proof } = proven
        const entering = sql.begin(
          'read only',
          (tx) => tx`select app.enter(${Buffer.from(proof, 'base64url')}, ${missing})`,
        )
        await expect(entering).rejects.toMatchObject({ code: 'TN403' })
      }
      expect(await write(await proofOf(owner), 'deal.write', ({ run }) => run('select 1'))).toHaveLength(1)
    },
  )

  it('rolls back when the work fails, and rejects what is run after the end', async () => {
    const proven = await proofOf(tenant.sales)
    const before = (await orders()).length
    const failing = write(proven, PERMISSION, async ({ run }) => {
      await run(ADD, [`${driver} undone`])
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    const swallowing = write(proven, PERMISSION, async ({ run }) => {
      await run(ADD, [`${driver} undone`])
      await run('select 1 / 0').catch(() => {})
    })
    await expect(swallowing).rejects.toThrow('rolled back')
    await expect(read(proven, ({ run }) => run(ADD, [`${driver} in a read`]))).rejects.toMatchObject({ code: '25006' })
    const kept = await read(proven, async (work) => work)
    await expect((async () => kept.run(LIST))()).rejects.toThrow('after the end')
    expect(await orders()).toHaveLength(before)
  })

  it('rejects every statement after its connection was lost, also when the pool has a new one', async () => {
    const proven = await proofOf(tenant.sales)
    const theirs = await proofOf(other.sales)
    const lost = read(proven, async ({ run }) => {
      const [row] = await run('select pg_backend_pid() as pid')
      await admin`select pg_terminate_backend(${Number(row?.['pid'])})`
      await expect.poll(() => admin`select from pg_stat_activity where pid = ${Number(row?.['pid'])}`).toHaveLength(0)
      // Another tenant's transaction would take the statement.
      await read(theirs, async (stranger) => {
        await stranger.run('select 1')
        await expect((async () => run(LIST))()).rejects.toThrow()
        return stranger.run(LIST)
      })
    })
    await expect(lost).rejects.toThrow()
    expect((await read(proven, ({ run }) => run(LIST))).length).toBeGreaterThan(0)
  })

  it('gives a connection back as it got it, also after a change of role', async () => {
    const proven = await proofOf(tenant.sales)
    for (const change of ['set role tenant_bound', "select set_config('role', 'tenant_bound', false)"])
      await write(proven, PERMISSION, ({ run }) => run(change)).catch(() => {})
    for (const of of [proven, await proofOf(other.sales)])
      expect(await write(of, PERMISSION, ({ run }) => run(ADD, [`${driver} after a role`]))).toHaveLength(1)
  })

  it('runs at the isolation level that it is given', async () => {
    const proven = await proofOf(tenant.sales)
    const level = ({ run }: Work) => run('show transaction_isolation')
    for (const isolation of ['repeatable read', 'serializable'] as const)
      for (const each of [read(proven, level, { isolation }), write(proven, PERMISSION, level, { isolation })])
        expect(await each).toEqual([{ transaction_isolation: isolation }])
    expect(await read(proven, level)).toEqual([{ transaction_isolation: 'read committed' }])
  })

  it('ends a connection on which an earlier statement planted one of another name', async () => {
    const proven = await proofOf(tenant.sales)
    await unscoped(`prepare planted as select 1`)
    await expect(read(proven, ({ run }) => run(LIST))).rejects.toThrow()
    expect((await read(proven, ({ run }) => run(LIST))).length).toBeGreaterThan(0)
  })
})

it('refuses what would leave the transaction of postgres.js, also in plain JavaScript', async () => {
  const proven = await proofOf(tenant.sales)
  for (const name of ['begin', 'reserve', 'listen', 'end'])
    await expect(postgresJs.readInTenant(sql, proven, async (tx) => Object(tx)[name](() => {}))).rejects.toThrow(
      'would leave',
    )
})
