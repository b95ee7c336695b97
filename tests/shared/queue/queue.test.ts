import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Database, Sql } from '#shared/db/connect.ts'
import { proofFor } from '#tests/support/proof.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import {
  claimJobs,
  completeJob,
  enqueue,
  failJob,
  type LeasedJob,
  rehearseEnqueue,
  returnJob,
} from '#shared/queue/queries.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { tenantId } from '#tests/support/minted-session.ts'

const ATTEMPTS = 3
const LEASE_SECONDS = 60

let database: TestDatabase
let app: Database
let worker: Database
let acme: string
let bolt: string
beforeAll(async () => {
  database = await createTestDatabase()
  app = connectTo(database.appUrl, { connections: 8, prepare: true })
  worker = connectTo(database.workerUrl, { connections: 8, prepare: true })
  acme = await tenantId(database.admin, 'acme-print')
  bolt = await tenantId(database.admin, 'bolt-apparel')
})
afterAll(async () => {
  await app.close()
  await worker.close()
  await database.drop()
})

/** A kind that no other test claims. A kind is letters and hyphens. */
const newKind = (): string =>
  `test-${randomUUID().replace(/[\d-]/g, (sign) => (sign === '-' ? '' : String.fromCharCode(103 + Number(sign))))}`

/** Adds a job of any kind; `enqueue` takes only those of the table. */
async function add(sql: Sql, kind: string, payload: object, key: string = randomUUID()): Promise<string | undefined> {
  const [job] = await sql<{
    id: string
  }>`select app.enqueue(${kind}, ${JSON.stringify(payload)}::text::jsonb, ${key}) as id`
  return job?.id
}

const claim = (kind: string, most = 10): Promise<LeasedJob[]> =>
  claimJobs(worker.sql, { kind, most, leaseSeconds: LEASE_SECONDS, attempts: ATTEMPTS })

async function claimOne(kind: string): Promise<LeasedJob> {
  const [job, ...others] = await claim(kind)
  if (job === undefined || others.length > 0) throw new Error(`${others.length + (job === undefined ? 0 : 1)} jobs`)
  return job
}

interface JobRow {
  readonly id: string
  readonly tenant_id: string | null
  readonly attempts: number
  readonly completed_at: Date | null
  readonly dead_at: Date | null
  readonly leased_until: Date | null
  readonly lease_token: string | null
  readonly last_error: string | null
  readonly run_at: Date
}

const rowsOf = (kind: string) =>
  database.admin<JobRow[]>`select * from app.jobs where kind = ${kind} order by created_at`

const expireLeases = (kind: string) => database.admin`
  update app.jobs set leased_until = now() - interval '1 second' where kind = ${kind} and leased_until is not null`

const makeDue = (kind: string) => database.admin`update app.jobs set run_at = now() where kind = ${kind}`

describe('enqueue', () => {
  const mail = { template: 'password-changed', user_id: randomUUID() } as const
  const invoked: string[] = []
  const invoke = async (mode = 'start') => void invoked.push(`deliver-mail${mode === 'start' ? '' : ` ${mode}`}`)
  const connected = (url: string) => connectTo(url, undefined, new Map([['deliver-mail', invoke]]))
  let invoking: Database
  beforeAll(() => {
    invoking = connected(database.appUrl)
  })
  beforeEach(() => {
    invoked.length = 0
  })
  afterAll(() => invoking.close())

  it('invokes the job’s function once after the commit of its transaction, for any number of jobs', async () => {
    await invoking.write(async (sql) => {
      await enqueue(sql, 'mail', mail)
      await enqueue(sql, 'mail', { ...mail, user_id: randomUUID() })
      await enqueue(await proofFor(database.admin, acme).enter(sql), 'mail', mail)
      expect(invoked).toEqual([])
    })
    expect(invoked).toEqual(['deliver-mail'])
  })

  it('invokes nothing when its transaction rolls back', async () => {
    const failure = new Error('after the job')
    const failing = invoking.write(async (sql) => {
      await enqueue(sql, 'mail', mail)
      throw failure
    })
    await expect(failing).rejects.toBe(failure)
    await invoking
      .write(async (sql) => {
        await enqueue(sql, 'mail', mail)
        await sql`select 1 / 0`.catch(() => {})
      })
      .catch(() => {})
    expect(invoked).toEqual([])
  })

  it('invokes the job’s function after a statement of its own, but not after a failed one', async () => {
    const id = await enqueue(invoking.sql, 'mail', mail)
    expect(await rowsOf('mail')).toContainEqual(expect.objectContaining({ id }))
    expect(invoked).toEqual(['deliver-mail'])
    await expect(enqueue(invoking.sql, 'mail', mail, '')).rejects.toMatchObject({ code: '23514' })
    await invoking.sql`select`
    expect(invoked).toEqual(['deliver-mail'])
  })

  it('leaves no job and starts nothing in a rehearsal, and keeps the rest of its transaction', async () => {
    const [mails, others] = [await rowsOf('mail'), await rowsOf('verify-vendor')]
    const auth = connected(database.urls.auth)
    onTestFinished(() => auth.close())
    await rehearseEnqueue(auth.sql, 'mail', mail)
    await auth.write(async (sql) => {
      await enqueue(sql, 'verify-vendor', { account_id: randomUUID() })
      await rehearseEnqueue(sql, 'mail', mail)
    })
    expect(invoked).toEqual(['deliver-mail rehearsal', 'deliver-mail rehearsal'])
    expect(await rowsOf('mail')).toEqual(mails)
    expect(await rowsOf('verify-vendor')).toHaveLength(others.length + 1)
  })

  it('invokes nothing for a kind that waits for its schedule', async () => {
    await enqueue(invoking.sql, 'verify-vendor', { account_id: randomUUID() })
    expect(invoked).toEqual([])
  })

  it('throws and adds nothing when the function does not name the need to invoke', async () => {
    const before = await rowsOf('mail')
    await expect(app.write((sql) => enqueue(sql, 'mail', mail))).rejects.toThrow(
      'does not name invoke:deliver-mail among its needs',
    )
    await expect(enqueue(app.sql, 'mail', mail)).rejects.toThrow('invoke:deliver-mail')
    expect(await rowsOf('mail')).toEqual(before)
  })

  it('enqueues a job for the tenant of the transaction, or for the platform when none is set', async () => {
    const kind = newKind()
    for (const tenant of [acme, bolt]) {
      await app.write(async (sql) => {
        await proofFor(database.admin, tenant).enter(sql)
        await add(sql, kind, { tenant })
      })
    }
    await add(app.sql, kind, { tenant: null })
    const jobs = await claim(kind)
    expect(jobs.map(({ tenant_id, payload }) => ({ tenant: tenant_id, payload }))).toEqual(
      expect.arrayContaining([acme, bolt, null].map((tenant) => ({ tenant, payload: { tenant } }))),
    )
    expect(jobs).toHaveLength(3)
  })

  it('enqueues a job for later, which nobody leases before, and which counts as undone from then on', async () => {
    const kind = newKind()
    const due = '2222-11-27T08:00:00Z'
    await app.sql`select app.enqueue(${kind}, '{}', 'reminder', ${due})`
    expect(await claim(kind)).toEqual([])
    expect(
      await database.admin`select from app.jobs where kind = ${kind} and run_at = ${due} and created_at = ${due}`,
    ).toHaveLength(1)
    await makeDue(kind)
    expect((await claimOne(kind)).id).toEqual(expect.any(String))
    await app.sql`select app.enqueue(${kind}, '{}', 'late', now() - interval '2 days')`
    expect((await claimOne(kind)).id).toEqual(expect.any(String))
  })

  it('enqueues nothing in a rolled-back transaction and shows no job before the commit', async () => {
    const kind = newKind()
    const failed = app.write(async (sql) => {
      await add(sql, kind, {})
      expect(await claim(kind)).toEqual([])
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    expect(await rowsOf(kind)).toHaveLength(0)
    await app.write((sql) => add(sql, kind, {}))
    expect(await claim(kind)).toHaveLength(1)
  })

  it('enqueues one job per key and tenant, and returns its id again, while it waits and after it ended', async () => {
    const kind = newKind()
    const addFor = (tenant: string | null) =>
      app.write(async (sql) => {
        if (tenant !== null) await proofFor(database.admin, tenant).enter(sql)
        return add(sql, kind, {}, 'the-key')
      })
    const tenants = [acme, bolt, null]
    const first = await Promise.all(tenants.map(addFor))
    const repeat = async () => expect(await Promise.all(tenants.map(addFor))).toEqual(first)
    await repeat()
    const jobs = await claim(kind)
    expect(jobs).toHaveLength(3)
    expect(tenants.map((tenant) => jobs.find((job) => job.tenant_id === tenant)?.id)).toEqual(first)
    await repeat()
    for (const job of jobs) expect(await completeJob(worker.sql, job)).toBe(true)
    await repeat()
    expect(await claim(kind)).toEqual([])
    expect(await rowsOf(kind)).toHaveLength(3)
  })

  it('enqueues one job per key in eight concurrent transactions and returns its id to each, even when one rolls back', async () => {
    for (let round = 0; round < 25; round += 1) {
      const kind = newKind()
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          app.write(async (sql) => {
            const id = await add(sql, kind, { index }, 'the-key')
            if (index === 0) throw new Error('the first failed')
            return id
          }),
        ),
      )
      const [job, ...others] = await rowsOf(kind)
      expect(others).toEqual([])
      expect(outcomes).toMatchObject([
        { status: 'rejected' },
        ...Array.from({ length: 7 }, () => ({ status: 'fulfilled', value: job?.id })),
      ])
    }
  })
})

describe('claimJobs', () => {
  it('gives each of 500 jobs to exactly one of eight concurrent workers', async () => {
    const kind = newKind()
    await app.sql`select app.enqueue(${kind}, jsonb_build_object('n', n)) from generate_series(1, 500) as n`
    const held: string[] = []
    const work = async () => {
      for (let jobs = await claim(kind, 7); jobs.length > 0; jobs = await claim(kind, 7)) {
        held.push(...jobs.map(({ id }) => id))
        const completed = await Promise.all(jobs.map((job) => completeJob(worker.sql, job)))
        expect(completed).not.toContain(false)
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
    // A worker stops when it finds only locked rows, which other workers take.
    expect(held).toHaveLength(500)
    expect(new Set(held).size).toBe(500)
    expect(
      (await rowsOf(kind)).filter(({ completed_at, attempts }) => completed_at === null || attempts !== 1),
    ).toEqual([])
  })

  it('claims no job that is leased, completed, dead-lettered, not due or of another kind', async () => {
    const kind = newKind()
    for (let n = 0; n < 5; n += 1) await add(app.sql, kind, { n })
    await add(app.sql, `${kind}-other`, {})
    const [leased, completed, dead, later] = await claim(kind, 4)
    if (leased === undefined || completed === undefined || dead === undefined || later === undefined)
      throw new Error('four jobs were to be claimed')
    await completeJob(worker.sql, completed)
    await failJob(worker.sql, dead, 'for good', null)
    await failJob(worker.sql, later, 'for now', 3600)
    const rest = await claim(kind)
    expect(rest).toHaveLength(1)
    expect([leased.id, completed.id, dead.id, later.id]).not.toContain(rest[0]?.id)
    expect(await claim(kind)).toEqual([])
  })

  it('claims a job again under a new lease once its lease has expired', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    const first = await claimOne(kind)
    expect(await claim(kind)).toEqual([])
    await expireLeases(kind)
    const second = await claimOne(kind)
    expect([second.id, second.attempts]).toEqual([first.id, 2])
    expect(second.lease_token).not.toBe(first.lease_token)
  })

  it('gives a job with an expired lease to one of eight concurrent workers', async () => {
    for (let round = 0; round < 20; round += 1) {
      const kind = newKind()
      await add(app.sql, kind, {})
      await claimOne(kind)
      await expireLeases(kind)
      const claims = await Promise.all(Array.from({ length: 8 }, () => claim(kind)))
      expect(claims.flat()).toHaveLength(1)
    }
  })

  it('dead-letters a job whose lease expired at its last attempt', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      expect((await claimOne(kind)).attempts).toBe(attempt)
      await expireLeases(kind)
    }
    expect(await claim(kind)).toEqual([])
    expect(await rowsOf(kind)).toMatchObject([
      { attempts: ATTEMPTS, dead_at: expect.any(Date), lease_token: null, last_error: 'its workers died' },
    ])
    await makeDue(kind)
    expect(await claim(kind)).toEqual([])
  })

  it('dead-letters a job whose workers died twelve times in a row, also when attempts are not limited', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    const claimUnlimited = () => claimJobs(worker.sql, { kind, most: 10, leaseSeconds: LEASE_SECONDS, attempts: null })
    const [failed] = await claimUnlimited()
    if (failed === undefined) throw new Error('no job was claimed')
    await failJob(worker.sql, failed, 'a failure that its worker survived', 0)
    for (let death = 1; death <= 12; death += 1) {
      expect(await claimUnlimited()).toHaveLength(1)
      await expireLeases(kind)
    }
    expect(await claimUnlimited()).toEqual([])
    expect(await rowsOf(kind)).toMatchObject([{ dead_at: expect.any(Date), last_error: 'its workers died' }])
  })

  it('gives a returned job to the next claim as if it had not been claimed', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    const first = await claimOne(kind)
    expect(await returnJob(worker.sql, first, 'blocked')).toBe(true)
    expect(await rowsOf(kind)).toMatchObject([{ attempts: 0, lease_token: null, last_error: 'blocked' }])
    expect(await claimOne(kind)).toMatchObject({ id: first.id, attempts: 1 })
    expect(await returnJob(worker.sql, first, 'of the late one')).toBe(false)
  })

  it('skips a job whose row another worker has locked', async () => {
    const kind = newKind()
    for (let n = 0; n < 2; n += 1) await add(app.sql, kind, { n })
    await worker.write(async (sql) => {
      const [held] = await claimJobs(sql, { kind, most: 1, leaseSeconds: LEASE_SECONDS, attempts: ATTEMPTS })
      const others = await claim(kind)
      expect(others).toHaveLength(1)
      expect(others[0]?.id).not.toBe(held?.id)
    })
  })
})

describe('a worker that lost its lease', () => {
  it.for([
    ['while another worker has it', async () => {}],
    ['after another worker completed the job', (job: LeasedJob) => completeJob(worker.sql, job)],
    ['after another worker failed the job', (job: LeasedJob) => failJob(worker.sql, job, 'of the other', 60)],
    ['after another worker dead-lettered the job', (job: LeasedJob) => failJob(worker.sql, job, 'of the other', null)],
  ] as const)('rejects a lost lease %s: the job can be neither completed nor failed', async ([, end]) => {
    const kind = newKind()
    await add(app.sql, kind, {})
    const lost = await claimOne(kind)
    await expireLeases(kind)
    await end(await claimOne(kind))
    const before = await rowsOf(kind)
    expect(await completeJob(worker.sql, lost)).toBe(false)
    expect(await failJob(worker.sql, lost, 'of the late one', 0)).toBe(false)
    expect(await failJob(worker.sql, lost, 'of the late one', null)).toBe(false)
    expect(await rowsOf(kind)).toEqual(before)
  })

  it('completes a job only for the worker that has the lease', async () => {
    for (let round = 0; round < 30; round += 1) {
      const kind = newKind()
      await add(app.sql, kind, {})
      const lost = await claimOne(kind)
      await expireLeases(kind)
      const kept = await claimOne(kind)
      const ends = await Promise.all([
        completeJob(worker.sql, lost),
        completeJob(worker.sql, kept),
        failJob(worker.sql, lost, 'of the late one', null),
      ])
      expect(ends).toEqual([false, true, false])
      expect(await rowsOf(kind)).toMatchObject([{ completed_at: expect.any(Date), dead_at: null }])
    }
  })
})

describe('failJob', () => {
  it('retries a failed job after its delay and not before', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    const [before] = await database.admin`select clock_timestamp() + interval '30 seconds' as due`
    expect(await failJob(worker.sql, await claimOne(kind), 'x'.repeat(500), 30)).toBe(true)
    const [after] = await database.admin`select clock_timestamp() + interval '30 seconds' as due`
    const [row] = await rowsOf(kind)
    expect(row).toMatchObject({ attempts: 1, lease_token: null, leased_until: null, dead_at: null })
    expect(row?.last_error).toHaveLength(200)
    expect(row?.run_at.getTime()).toBeGreaterThanOrEqual(before?.['due'].getTime())
    expect(row?.run_at.getTime()).toBeLessThanOrEqual(after?.['due'].getTime())
    expect(await claim(kind)).toEqual([])
    await makeDue(kind)
    expect((await claimOne(kind)).attempts).toBe(2)
  })

  it('does not delay the jobs behind a failed one', async () => {
    const kind = newKind()
    for (let n = 0; n < 3; n += 1) await add(app.sql, kind, { n })
    const [poison] = await claim(kind, 1)
    if (poison === undefined) throw new Error('no job was claimed')
    await failJob(worker.sql, poison, 'poison', backoffSeconds(poison.attempts))
    const others = await claim(kind)
    expect(others).toHaveLength(2)
    expect(others.map(({ id }) => id)).not.toContain(poison.id)
  })
})

describe('backoffSeconds', () => {
  it('doubles the backoff from 2 seconds to 30 minutes, with at most half of it random', () => {
    for (let attempts = 1; attempts <= 40; attempts += 1) {
      const most = Math.min(1800, 2 ** attempts)
      expect(backoffSeconds(attempts, () => 0)).toBe(most / 2)
      expect(backoffSeconds(attempts, () => 1 - Number.EPSILON)).toBeCloseTo(most, 6)
      for (let draw = 0; draw < 20; draw += 1) {
        const seconds = backoffSeconds(attempts)
        expect(seconds).toBeGreaterThanOrEqual(most / 2)
        expect(seconds).toBeLessThanOrEqual(most)
      }
    }
  })
})

describe('access to the queue', () => {
  it('hides jobs from the role of the route groups', async () => {
    const kind = newKind()
    await add(app.sql, kind, {})
    for (const attempt of [
      () => app.sql`select id from app.jobs`,
      () => app.sql`delete from app.jobs`,
      () => app.sql`update app.jobs set dead_at = now()`,
      () => app.sql`insert into app.jobs (kind, payload, idempotency_key) values ('mail', '{}', 'k')`,
      () => claimJobs(app.sql, { kind, most: 1, leaseSeconds: 1, attempts: 1 }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: '42501' })
    }
  })
})
