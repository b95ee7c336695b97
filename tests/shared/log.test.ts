import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { countMetric, metered, recordMetric } from '#shared/log.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'

vi.hoisted(() => {
  process.env['POWERTOOLS_METRICS_DISABLED'] = 'false'
})

let written = ''
vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
  written += String(chunk)
  return true
})

const database = await createTestDatabase()
afterAll(async () => {
  vi.restoreAllMocks()
  await database.drop()
})

const lines = (): any[] =>
  written
    .split('\n')
    .filter((line) => line.includes('"_aws"'))
    .map((line) => JSON.parse(line))

beforeEach(async () => {
  // The first one is cold.
  await metered(async () => {})()
  written = ''
})

describe('what is counted', () => {
  it('is written also when the handler throws, added up, and once', async () => {
    const failing = metered(async () => {
      countMetric('Unauthorized', 'absent')
      countMetric('Unauthorized', 'absent')
      throw new Error('the handler failed')
    })
    await expect(failing()).rejects.toThrow('the handler failed')
    expect(lines()).toEqual([expect.objectContaining({ stage: 'local', cause: 'absent', Unauthorized: 2 })])
    await metered(async () => {})()
    expect(lines()).toHaveLength(1)
  })

  it('has a line for each value by which it is told apart', async () => {
    await metered(async () => {
      recordMetric('QueueOldest', 12, 'mail')
      recordMetric('QueueWaiting', 3, 'mail')
      recordMetric('QueueWaiting', 4, 'verify-vendor')
    })()
    expect(lines()).toEqual([
      expect.objectContaining({ kind: 'mail', QueueOldest: 12, QueueWaiting: 3 }),
      expect.objectContaining({ kind: 'verify-vendor', QueueWaiting: 4 }),
    ])
    const [{ _aws: embedded }] = lines()
    expect(embedded.CloudWatchMetrics[0]).toMatchObject({
      Dimensions: [
        ['service', 'stage'],
        ['service', 'stage', 'kind'],
      ],
      Metrics: [
        { Name: 'QueueOldest', Unit: 'Seconds' },
        { Name: 'QueueWaiting', Unit: 'Count' },
      ],
    })
  })

  it('stays in bounds, however much there is of it', async () => {
    await metered(async () => {
      for (let count = 0; count < 500; count += 1) {
        recordMetric('DatabaseWait', count)
        countMetric('JobFailed', 'mail')
      }
    })()
    expect(lines()).toHaveLength(2)
    const [waits, jobs] = lines()
    expect([waits.DatabaseWait.length, jobs.JobFailed]).toEqual([50, 500])
  })
})

describe('a connection', () => {
  it('that work had to wait for is measured, and one that was free is not', async () => {
    const connection = connectTo(database.workerUrl)
    await connection.sql`select 1`
    const handler = metered(async (others: number) => {
      const busy = connection.transaction('read only', (held) => held`select pg_sleep(0.05)`)
      await Promise.all([busy, ...Array.from({ length: others }, () => connection.sql`select 1`)])
    })
    written = ''
    await handler(0)
    expect(lines().filter((line) => 'DatabaseWait' in line)).toEqual([])
    await handler(1)
    expect(lines().at(-1)?.DatabaseWait).toBeGreaterThan(40)
    await connection.close()
  })

  it('that is lost is counted, and one that is refused, and neither when it is closed', async () => {
    const connection = connectTo(database.workerUrl)
    const [own] = await connection.sql<{ pid: number }>`select pg_backend_pid() as pid`
    await database.admin`select pg_terminate_backend(${own?.pid ?? 0})`
    await vi.waitUntil(async () => {
      await metered(async () => {})()
      return lines().some((line) => line.DatabaseLost === 1)
    })
    await connection.sql`select 1`
    await connection.close()
    const nobody = connectTo(urlFor(database.workerUrl, { port: 1 }))
    written = ''
    await expect(metered(() => nobody.sql`select 1`)()).rejects.toThrow()
    expect(lines()).toEqual([expect.objectContaining({ DatabaseRefused: 1 })])
    expect(lines()[0]).not.toHaveProperty('DatabaseLost')
    await nobody.close()
  })
})
