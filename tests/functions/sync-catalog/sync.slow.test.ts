import { expect, it } from 'vitest'
import type { Database, Sql } from '#shared/db/connect.ts'
import { PAUSES, TIME, useCatalogSync } from '#tests/support/catalog-sync.ts'
import { rounds } from '#tests/support/rounds.ts'

// Three pages.
const PRODUCTS = 41

const sync = await useCatalogSync(PRODUCTS)
const { service, faults, invoked, newShop, startedBy, runOf, work, catalogOf, expireLeases } = sync

it('a sync run loses and repeats nothing when its worker is killed at any step', async () => {
  // A worker of one undisturbed run takes fewer steps than this.
  const STEPS = 60
  const deaths = [...rounds(10)]
  for (const round of deaths) {
    const shop = await newShop()
    const run = await startedBy(shop)
    const step = 1 + Math.floor((round * STEPS) / deaths.length)
    await work(TIME, dying(sync.database, step)).catch((error: unknown) => expect(String(error)).toContain('killed'))
    await expireLeases()
    await work()
    expect(await runOf(shop, run), `killed at step ${step}`).toMatchObject({ status: 'succeeded', styles: PRODUCTS })
    expect((await catalogOf(shop)).ss).toEqual(sync.expected.ss)
  }
})

it('a sync run stores the same for two vendors at the same time as one after the other', async () => {
  const shop = await newShop('sanmar', 'ss-activewear')
  for (const vendor of Object.keys(shop.accounts)) await startedBy(shop, vendor)
  expect(await work()).toBe(2)
  expect(await catalogOf(shop)).toEqual(sync.expected)
})

it('a sync run fails with kms-unavailable when KMS is down five times', () =>
  sync.expectFailure({
    error: 'kms-unavailable',
    pauses: PAUSES,
    when: 'KMS is down five times',
    cause: () => service.vault.faults.set({ part: 'kms', mode: 'refuse' }),
  }))

it('a sync run continues in another invocation at any page, exactly where it stopped', async () => {
  const shop = await newShop()
  const run = await startedBy(shop)
  const counts: number[] = []
  for (let invocations = 0; (await runOf(shop, run)).finished_at === null && invocations < 10; invocations += 1) {
    // Each invocation has time for two tries.
    let calls = 0
    const before = invoked.length
    await work({ ...TIME, shouldStop: () => calls++ > 3 })
    const { status, styles } = await runOf(shop, run)
    expect(invoked.length - before).toBe(status === 'running' ? 1 : 0)
    counts.push(styles)
  }
  expect(counts.length).toBeGreaterThan(2)
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(counts.at(-1)).toBe(PRODUCTS)
  expect((await catalogOf(shop)).ss).toEqual(sync.expected.ss)
})

it('a sync run stores nothing after another worker has taken it', async () => {
  const shop = await newShop()
  const run = await startedBy(shop)
  // The second worker begins while the first one waits for a page.
  await faults.set({ part: 'vendor', mode: 'hang' })
  const first = work()
  await expect.poll(async () => (await runOf(shop, run)).status).toBe('running')
  await expireLeases()
  await faults.set({ part: 'vendor', mode: 'ok' })
  await Promise.all([first, work()])
  await expireLeases()
  await work()
  expect(await runOf(shop, run)).toMatchObject({ status: 'succeeded', styles: PRODUCTS })
  expect((await catalogOf(shop)).ss).toEqual(sync.expected.ss)
})

/** Returns a database whose worker is killed before or after the statement or transaction of this step, and stays dead. */
function dying(alive: Database, steps: number): Database {
  let left = steps
  const step = () => {
    left -= 1
    if (left <= 0) throw new Error('killed')
  }
  const living = async <T>(act: () => Promise<T>): Promise<T> => {
    step()
    const result = await act()
    step()
    return result
  }
  const sql: Sql = Object.assign(
    <Row extends object>(
      text: TemplateStringsArray,
      ...values: Parameters<Database['sql']> extends [unknown, ...infer V] ? V : never
    ) => living(() => alive.sql<Row>(text, ...values)),
    { invoking: () => sql },
  )
  return {
    ...alive,
    sql,
    read: (work) => living(() => alive.read(work)),
    write: (work) => living(() => alive.write(work)),
  }
}
