import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { log } from '#shared/base/log.ts'
import { countMetric, metered, recordMetric } from '#shared/base/metrics.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'

vi.hoisted(() => {
  process.env['POWERTOOLS_METRICS_DISABLED'] = 'false'
  process.env['POWERTOOLS_LOG_LEVEL'] = 'INFO'
  process.env['RELEASE'] = '0123456789ab'
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
  // The first call records a cold start.
  await metered(async () => {})()
  written = ''
})

describe('a line of the log', () => {
  it('names the release, also beside the fields of the line', () => {
    log.info('something happened', { tenant_id: 'one' })
    expect(JSON.parse(written)).toMatchObject({
      message: 'something happened',
      release: '0123456789ab',
      tenant_id: 'one',
    })
  })
})

describe('metrics', () => {
  it('writes metrics once, added up, even when the handler throws', async () => {
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

  it('writes one line for each combination of dimensions', async () => {
    await metered(async () => {
      recordMetric('QueueOldest', 12, 'mail')
      recordMetric('QueueWaiting', 3, 'mail')
      recordMetric('QueueWaiting', 4, 'verify-vendor')
    })()
    expect(lines()).toEqual([
      expect.objectContaining({ kind: 'mail', QueueOldest: 12 }),
      expect.objectContaining({ kind: 'mail', QueueWaiting: 3 }),
      expect.objectContaining({ kind: 'verify-vendor', QueueWaiting: 4 }),
    ])
    expect(lines().map(({ _aws: embedded }) => embedded.CloudWatchMetrics[0])).toMatchObject([
      {
        Dimensions: [
          ['service', 'stage'],
          ['service', 'stage', 'kind'],
        ],
        Metrics: [{ Name: 'QueueOldest', Unit: 'Seconds' }],
      },
      { Dimensions: [['service', 'stage', 'kind']], Metrics: [{ Name: 'QueueWaiting', Unit: 'Count' }] },
      { Dimensions: [['service', 'stage', 'kind']], Metrics: [{ Name: 'QueueWaiting', Unit: 'Count' }] },
    ])
  })

  it('keeps at most 50 values of a metric and adds up counts without bound', async () => {
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

describe('connection metrics', () => {
  it('measures how long work waits for a connection, and nothing when one is free', async () => {
    const connection = connectTo(database.workerUrl)
    await connection.sql`select 1`
    const handler = metered(async (others: number) => {
      const busy = connection.read((held) => held`select pg_sleep(0.05)`)
      await Promise.all([busy, ...Array.from({ length: others }, () => connection.sql`select 1`)])
    })
    written = ''
    await handler(0)
    expect(lines().filter((line) => 'DatabaseWait' in line)).toEqual([])
    await handler(1)
    expect(lines().at(-1)?.DatabaseWait).toBeGreaterThan(0)
    await connection.close()
  })

  it('counts lost and refused connections, but not closed ones', async () => {
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
