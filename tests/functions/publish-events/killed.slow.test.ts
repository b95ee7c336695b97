import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUS, startPublisher, type TestPublisher } from '#tests/support/publisher.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

const KILLS = 12
const WRITERS = 4

let database: TestDatabase
let publisher: TestPublisher
beforeAll(async () => {
  database = await createTestDatabase()
  publisher = await startPublisher(database)
})
afterAll(async () => {
  await publisher.close()
  await database.drop()
})

it('publishes every committed change and no other, while its processes are killed at any time and EventBridge fails', async () => {
  const { admin, urls } = database
  const work = { publisherUrl: urls.publisher, eventBridgeUrl: publisher.eventBridge.url, bus: BUS }
  const committed = new Set<string>()
  const ended = new AbortController()
  const write = async () => {
    while (!ended.signal.aborted) {
      const commit = Math.random() < 0.7
      const written = await admin
        .begin(async (sql) => {
          const rows = await sql<{ id: string }[]>`
            insert into app.audit_log (tenant_id, action, target_type)
            select id, 'deal.created', 'deal' from app.tenants limit 2 returning id`
          if (!commit) throw new Error('rolled back')
          return rows
        })
        .catch((error: Error) => {
          if (error.message !== 'rolled back') throw error
          return []
        })
      for (const { id } of written) committed.add(id)
      // The local bus keeps the last ten thousand events.
      await delay(40)
    }
  }
  const writers = Array.from({ length: WRITERS }, write)
  for (let kill = 0; kill < KILLS; kill += 1) {
    const mode = ['ok', 'partial', 'throttle', 'slow'][kill % 4]
    await publisher.faults.set({ part: 'eventbridge', mode, share: 0.5, ms: 200 })
    const child = fork(new URL('../../support/publish-process.ts', import.meta.url), {
      env: { ...process.env, PUBLISH_WORK: JSON.stringify(work) },
    })
    await once(child, 'message')
    await delay(50 + Math.random() * 500)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await publisher.later()
  }
  ended.abort()
  await Promise.all(writers)
  await publisher.faults.set({ part: 'eventbridge', mode: 'ok' })
  for (let left = 1; left > 0; ) {
    await publisher.later()
    left = await publisher.publish()
  }
  const sent = new Set(publisher.eventBridge.received().map(({ detail }) => (detail as { id: string }).id))
  expect(committed.size).toBeGreaterThan(KILLS * 50)
  expect([...committed].filter((id) => !sent.has(id))).toEqual([])
  expect(sent.size).toBe(committed.size)
})
