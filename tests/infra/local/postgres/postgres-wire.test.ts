import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import postgres from 'postgres'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { urlFor } from '#infra/local/postgres/database.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'

describe('the Postgres proxy', () => {
  async function proxied() {
    const faults = createFaults()
    const { hostname: host, port } = new URL(inject('adminUrl'))
    const wire = await startPostgresWire({ host, port: Number(port), faults })
    onTestFinished(() => wire.close())
    const url = urlFor(inject('adminUrl'), { port: wire.port })
    const client = () => {
      const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 2, backoff: () => 0.05 })
      onTestFinished(() => sql.end({ timeout: 0 }))
      return sql
    }
    /** Returns what `work` adds to the counts. */
    const added = async (work: () => Promise<unknown>) => {
      const before = wire.counts()
      await work()
      const after = wire.counts()
      return { statements: after.statements - before.statements, roundTrips: after.roundTrips - before.roundTrips }
    }
    /** Waits until the proxy received something new. */
    const received = () => {
      const { roundTrips } = wire.counts()
      return vi.waitUntil(() => wire.counts().roundTrips > roundTrips, { timeout: 10_000, interval: 5 })
    }
    return { faults, wire, client, added, received }
  }

  it('counts one statement and one round trip for a query', async () => {
    const { client, added, faults, wire } = await proxied()
    const sql = client()
    await sql`select 1`
    expect(await added(() => sql`select 1 as n`)).toEqual({ statements: 1, roundTrips: 1 })
    expect(
      await added(() => sql`select ${'x'.repeat(300_000)}::text as long`.then(() => sql`select ${1}::int`)),
    ).toMatchObject({
      statements: 2,
    })
    expect(await added(() => sql.unsafe('select 1; select 2').simple())).toEqual({ statements: 1, roundTrips: 1 })
    expect(faults.counts().postgres).toBe(wire.counts().statements)
  })

  it('counts statements that are sent together as one round trip', async () => {
    const { client, added } = await proxied()
    const sql = client()
    await sql`select 1`
    const together = () => Promise.all([sql`select 1 as a`.simple(), sql`select 2 as b`.simple()])
    const { statements, roundTrips } = await added(together)
    expect(statements).toBe(2)
    expect(roundTrips).toBeLessThanOrEqual(2)
    const oneByOne = await added(() => sql.begin((tx) => tx`select ${1}::int`.then(() => tx`select ${2}::int`)))
    expect(oneByOne.statements).toBe(4)
    expect(oneByOne.roundTrips).toBeGreaterThanOrEqual(4)
  })

  it('counts statements as one round trip when the client sends them in several packets and waits for no reply', async () => {
    const { client, added } = await proxied()
    const sql = client()
    // The driver sends what is above 1,024 bytes immediately, and the rest in another packet.
    const long = 'x'.repeat(2000)
    // The server answers the first and the last immediately, and needs a moment for the one between them.
    const slow = () => sql`select pg_sleep(0.05), ${long}::text`
    await slow()
    const together = () => Promise.all([sql.unsafe('begin'), slow(), sql.unsafe('commit')])
    for (let time = 0; time < 3; time += 1) expect(await added(together)).toEqual({ statements: 3, roundTrips: 1 })
    const waiting = () => slow().then(() => sql.unsafe('select 1'))
    expect(await added(waiting)).toEqual({ statements: 2, roundTrips: 2 })
  })

  it('passes large results of parallel connections unchanged', async () => {
    const { client } = await proxied()
    const lengths = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const [row] = await client()<{ text: string }[]>`select repeat(${String(index)}, 3000000) as text`
        return row?.text === String(index).repeat(3_000_000)
      }),
    )
    expect(lengths).toEqual(Array.from({ length: 8 }, () => true))
  })

  it('drops connections, old and new, while it refuses', async () => {
    const { client, faults, received } = await proxied()
    const sql = client()
    await sql`select 1`
    const sleeping = expect(sql`select pg_sleep(60)`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await received()
    await faults.set({ part: 'postgres', mode: 'refuse' })
    await sleeping
    await expect(client()`select 1`).rejects.toMatchObject({ code: expect.stringMatching(/^CONNECT|^ECONN/) })
    await faults.set({ part: 'postgres', mode: 'ok' })
    expect(await client()`select 1 as n`).toMatchObject([{ n: 1 }])
  })

  it('sends nothing on old and new connections while it hangs, and then drops them', async () => {
    const { client, faults } = await proxied()
    const sql = client()
    await sql`select 1`
    await faults.set({ part: 'postgres', mode: 'hang' })
    const hanging = expect(sql`select 1`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await expect(client()`select 1`).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' })
    await faults.set({ part: 'postgres', mode: 'ok' })
    await hanging
    expect(await client()`select 1 as n`).toMatchObject([{ n: 1 }])
  })

  it('delays what clients send while it is slow, and keeps the order', async () => {
    const { client, faults, received } = await proxied()
    const sql = client()
    await sql`select 1`
    await faults.set({ part: 'postgres', mode: 'slow', ms: 1000 })
    const order: unknown[] = []
    const query = async (text: string) => order.push(...(await sql.unsafe(text).simple()).map(({ n }) => n))
    const queries = [query('select 1 as n'), query('select 2 as n')]
    await received()
    await faults.set({ part: 'postgres', mode: 'ok' })
    queries.push(query('select 3 as n'))
    expect(order).toEqual([])
    await Promise.all(queries)
    expect(order).toEqual([1, 2, 3])
  })

  it('resets a connection while Postgres does not listen, so that its client fails immediately', async () => {
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo
    await new Promise((done) => listener.close(done))
    const wire = await startPostgresWire({ host: '127.0.0.1', port })
    onTestFinished(() => wire.close())
    const [error] = await once(connect(wire.port, '127.0.0.1'), 'error')
    expect(error).toMatchObject({ code: 'ECONNRESET' })
  })

  it('closes a connection when Postgres does', async () => {
    const { wire } = await proxied()
    const socket = connect(wire.port, '127.0.0.1')
    socket.write(Buffer.of(0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f))
    const [answer] = await new Promise<Buffer[]>((resolve) => socket.once('data', (chunk) => resolve([chunk])))
    expect(answer?.toString()).toBe('N')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(Buffer.of(0, 0, 0, 9, 0, 99, 0, 0, 0))
    await closed
  })
})
