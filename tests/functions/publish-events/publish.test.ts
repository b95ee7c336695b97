import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import { EVENT_KEYS } from '#shared/audit/event-keys.ts'
import type { Database } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import { enqueueEvents, keepEvents, readEvents } from '#functions/workers/publish-events/queries.ts'
import { claimJobs, completeJob, failJob } from '#shared/queue/queries.ts'
import { startPublisher, type TestPublisher } from '#tests/support/publisher.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let publisher: TestPublisher
let tenant: string
beforeAll(async () => {
  publisher = await startPublisher(service.database)
  ;({ id: tenant } = await service.newTenant())
})
afterAll(() => publisher.close())
beforeEach(async () => {
  await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
  await service.sql`delete from app.events`
  await service.sql`delete from app.jobs where kind = 'event'`
})

/** Appends audit entries in one transaction, which commits or is rolled back. Returns their ids. */
async function change(action: string, { entries = 1, before = null, after = null, commit = true }: Change = {}) {
  const ids = Array.from({ length: entries }, () => randomUUID())
  const append = service.sql.begin(async (sql) => {
    for (const id of ids)
      await sql`
        insert into app.audit_log (id, tenant_id, action, target_type, before, after)
        values (${id}, ${tenant}, ${action}, 'deal', ${sql.json(before as never)}, ${sql.json(after as never)})`
    if (!commit) throw new Error('rolled back')
  })
  await append.catch((error: unknown) => {
    if (commit) throw error
  })
  return ids
}
interface Change {
  readonly entries?: number
  readonly before?: object | null
  readonly after?: object | null
  readonly commit?: boolean
}

const received = () => publisher.eventBridge.received().map(({ detail }) => (detail as { id: string }).id)
const waiting = () => service.sql<{ id: string }[]>`select id from app.events where job_id is null order by xact, id`
/** The jobs, each with the events that it still has to send: null for all of its events. */
const jobs = () => service.sql`
  select payload -> 'ids' as ids, attempts, last_error as error,
         completed_at is not null as completed, dead_at is not null as dead, lease_token is not null as leased, run_at > now() as waits
    from app.jobs where kind = 'event' order by created_at`

describe('an audit entry', () => {
  it('lets ids, codes and numbers leave, and no planted name, address or secret, for every action', async () => {
    const values = { id: randomUUID(), code: 'sales', codes: ['deal.read', '*'], number: 17, numbers: [12, 24] }
    const plain = Object.fromEntries(Object.entries(EVENT_KEYS).map(([key, kind]) => [key, values[kind]]))
    const planted = ['person@shop.test', 'Mary Shelley', { name: 'Mary' }, ['Mary Shelley'], 'a "quoted" secret', 'é']
    const others = { email: 'x', full_name: 'y', customer_name: 'z', reason: 'because', operator: 'arn', label: 'l' }
    const cases = Object.entries(AUDIT_ACTIONS).flatMap(([action, { event }]) => {
      const allowed = event && Object.fromEntries(event.map((key) => [key, plain[key]]))
      const leaving = allowed && Object.keys(allowed).length > 0 ? allowed : null
      const good = { action, change: { ...others, ...plain }, expected: event && { before: leaving, after: leaving } }
      const bad = planted.map((value) => ({
        action,
        change: Object.fromEntries(Object.keys(plain).map((key) => [key, value])),
        expected: event && { before: null, after: null },
      }))
      return [good, ...bad].map((each) => Object.assign(each, { id: randomUUID() }))
    })
    await service.sql`
      insert into app.audit_log (id, tenant_id, action, target_type, before, after)
      select c.id, ${tenant}, c.action, 'deal', c.change, c.change
        from jsonb_to_recordset(${service.sql.json(cases)}) as c(id uuid, action text, change jsonb)`
    const rows = await service.sql`select id, before, after from app.events`
    const events = new Map(rows.map(({ id, ...changes }) => [id, changes]))
    for (const { id, action, change, expected } of cases)
      expect(events.get(id) ?? null, `${action} ${JSON.stringify(change)}`).toEqual(expected)
  })

  it('invokes the publisher after the commit of a request, and leaves as one event', async () => {
    const { owner, sales, id } = await service.newTenant('owner', 'sales')
    const path = `PATCH /v1/members/${sales.membershipId}`
    const before = service.invoked.length
    expect((await service.request(path, { token: owner.token, body: { role: 'viewer' } })).status).toBe(200)
    // The mail is to the member whose role changed.
    expect(service.invoked.slice(before)).toEqual(['publish-events', 'deliver-mail'])
    expect(await publisher.publish()).toBe(1)
    const [entry] = await service.sql`select id, occurred_at from app.audit_log where tenant_id = ${id}`
    expect(publisher.eventBridge.received().at(-1)).toMatchObject({
      source: 'tenantry',
      'detail-type': 'membership.role_changed',
      detail: {
        id: entry?.['id'],
        schema: 1,
        occurred_at: entry?.['occurred_at'].toISOString(),
        tenant_id: id,
        actor: { type: 'user', id: owner.userId },
        subject: { type: 'membership', id: sales.membershipId },
        before: { role: 'sales' },
        after: { role: 'viewer' },
      },
    })
    expect(await publisher.publish()).toBe(0)
  })
})

describe('the publisher', () => {
  it.each(['throttle', 'refuse', 'partial'])('keeps every event that EventBridge does not take: %s', async (mode) => {
    const ids = await change('deal.created', { entries: 25 })
    await publisher.faults.set({ part: 'eventbridge', mode })
    expect(await publisher.publish()).toBe(0)
    const kept = { ids: null, completed: false, dead: false, leased: false, waits: true, attempts: 1 }
    expect(await jobs()).toMatchObject([kept])
    await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
    expect(await publisher.publish()).toBe(0)
    await publisher.later()
    expect(await publisher.publish()).toBe(25)
    expect(new Set(received())).toEqual(new Set([...received(), ...ids]))
  })

  it('sends ten events a call, and only those again that failed', async () => {
    await change('deal.created', { entries: 60 })
    await publisher.faults.set({ part: 'eventbridge', mode: 'partial', share: 0.5 })
    const calls = publisher.faults.counts().eventbridge
    const first = received().length
    const taken = await publisher.publish()
    expect(publisher.faults.counts().eventbridge - calls).toBe(6)
    await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
    await publisher.later()
    expect(await publisher.publish()).toBe(60 - taken)
    const sent = received().slice(first)
    expect(sent).toHaveLength(60)
    expect(new Set(sent).size).toBe(60)
  })

  it('dead-letters an event that can never succeed, publishes the others of its call, and sends it once its job is retried', async () => {
    const [bad = '', ...good] = await change('deal.created', { entries: 10 })
    await service.sql`update app.events set action = '' where id = ${bad}`
    expect(await publisher.publish()).toBe(9)
    expect(await jobs()).toMatchObject([{ ids: [bad], dead: true, completed: false, error: 'InvalidArgument' }])
    await publisher.later()
    expect(await publisher.publish()).toBe(0)
    expect(received()).toEqual(expect.arrayContaining(good))
    await service.sql`update app.events set action = 'deal.created' where id = ${bad}`
    await service.sql`update app.jobs set dead_at = null, run_at = now() where kind = 'event' and dead_at is not null`
    expect(await publisher.publish()).toBe(1)
    expect(received().at(-1)).toBe(bad)
    expect(await jobs()).toMatchObject([{ dead: false, completed: true }])
  })

  it('tries an event that can succeed later again, together with one that cannot', async () => {
    const [bad = ''] = await change('deal.created', { entries: 10 })
    await service.sql`update app.events set action = '' where id = ${bad}`
    await publisher.faults.set({ part: 'eventbridge', mode: 'throttle' })
    expect(await publisher.publish()).toBe(0)
    expect(await jobs()).toMatchObject([{ ids: null, dead: false }])
    await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
    await publisher.later()
    expect(await publisher.publish()).toBe(9)
    expect(await jobs()).toMatchObject([{ ids: [bad], dead: true }])
  })

  it('sends the oldest events first', async () => {
    const ids: string[] = []
    for (let n = 0; n < 4; n += 1) ids.push(...(await change('deal.created', { entries: 40 })).toSorted())
    const first = received().length
    expect(await publisher.publish()).toBe(160)
    const sent = received().slice(first)
    // The calls of a job are concurrent.
    for (let job = 0; job < 160; job += 50)
      expect(new Set(sent.slice(job, job + 50))).toEqual(new Set(ids.slice(job, job + 50)))
  })

  it('shares the events with concurrent publishers, each to one of them', async () => {
    await change('deal.created', { entries: 420 })
    const first = received().length
    const counts = await Promise.all([publisher.publish(), publisher.publish(), publisher.publish()])
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(420)
    expect(new Set(received().slice(first)).size).toBe(420)
    expect(received().length - first).toBe(420)
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1)
  })

  it('publishes the events of a publisher that died after a call again, and ends no lease that another one has by now', async () => {
    const [id] = await change('deal.created')
    const { sql } = publisher.database
    await enqueueEvents(sql)
    const claim = () => claimJobs(sql, { kind: 'event', most: 10, leaseSeconds: 30, attempts: null })
    const [late] = await claim()
    expect(await claim()).toEqual([])
    if (late === undefined) throw new Error('no job was claimed')
    expect(await readEvents(sql, late)).toMatchObject([{ id }])
    await publisher.later()
    expect(await readEvents(sql, late)).toEqual([])
    const [current] = await claim()
    if (current === undefined) throw new Error('the lease did not expire')
    expect(await readEvents(sql, current)).toMatchObject([{ id }])
    expect(await failJob(sql, late, 'a late failure', null)).toBe(false)
    await keepEvents(sql, late, [])
    expect(await jobs()).toMatchObject([{ ids: null, dead: false, attempts: 2 }])
    await publisher.later()
    expect(await publisher.publish()).toBe(1)
    expect(received().at(-1)).toBe(id)
    expect(await completeJob(sql, current)).toBe(false)
  })

  it('finds no event of a change that was rolled back, and each of one that was committed', async () => {
    await change('deal.created', { entries: 2, commit: false })
    expect(await waiting()).toEqual([])
    const ids = await change('deal.created', { entries: 2 })
    expect((await waiting()).map(({ id }) => id)).toEqual(ids.toSorted())
  })
})

describe('the ledger', () => {
  /** The publisher dies at its statement number `at`, before the statement or after it. */
  const dying = (at: number, when: 'before' | 'after'): Database => {
    let left = at
    const run: Run = async <Row extends object>(text: TemplateStringsArray, ...values: Parameters<Run>[1][]) => {
      left -= 1
      if (left < 0 || (left === 0 && when === 'before')) throw new Error('killed')
      const rows = await publisher.database.sql<Row>(text, ...(values as never[]))
      if (left === 0) throw new Error('killed')
      return rows
    }
    return { ...publisher.database, sql: Object.assign(run, { invoking: publisher.database.sql.invoking }) }
  }

  it('publishes every committed change at least once and no other, however publishers and EventBridge fail', async () => {
    const committed: string[] = []
    const rolledBack: string[] = []
    const write = async (entries: number) => {
      committed.push(...(await change('deal.created', { entries })))
      rolledBack.push(...(await change('deal.changed', { entries, commit: false })))
    }
    const first = received().length
    for (const mode of ['ok', 'throttle', 'refuse', 'partial']) {
      await publisher.faults.set({ part: 'eventbridge', mode, share: 0.5 })
      for (const at of [1, 2, 3, 4, 5, 6])
        for (const when of ['before', 'after'] as const) {
          await Promise.all([write(7), publisher.publish(dying(at, when)).catch(() => {}), publisher.publish()])
          await publisher.later()
        }
    }
    await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
    while ((await publisher.publish()) > 0);
    const sent = new Set(received().slice(first))
    expect(committed.filter((id) => !sent.has(id))).toEqual([])
    expect(rolledBack.filter((id) => sent.has(id))).toEqual([])
    expect(sent.size).toBe(committed.length)
  })
})
