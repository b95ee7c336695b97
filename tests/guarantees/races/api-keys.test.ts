import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { operate } from '#functions/workers/operate/operate.ts'
import { connectTo } from '#tests/support/access.ts'
import { type MintedKey, mintKey } from '#tests/support/minted-key.ts'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { rounds } from '#tests/support/rounds.ts'
import { MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { writes } from '#tests/support/write-design.ts'

const WRITERS = 4

const service = useService({
  groups: [writes],
  env: { API_KEY_LIMIT: '1000000', API_KEY_REVOKE_LIMIT: '1000000' },
})

interface Revoked {
  readonly tenant: TestTenant<'owner'>
  readonly key: MintedKey
}

const expectStatus = async (answer: Promise<{ status: number; text: string }>, status: number) => {
  const { status: found, text } = await answer
  expect(found, text).toBe(status)
}

/** Runs an operator's command, as the function `operate` does. */
async function byOperator(command: Parameters<typeof operate>[1]): Promise<void> {
  const database = connectTo(service.database.operatorUrl, { connections: 2, prepare: true })
  try {
    const worker = { config: service.runtime.config, database, pepper: PEPPER, mailKey: MAIL_KEY }
    expect(await operate(worker, command, INSTRUCTION)).toMatchObject({ done: {} })
  } finally {
    await database.close()
  }
}

/** Each way in which a key ends. */
const ENDS: readonly (readonly [how: string, end: (revoked: Revoked) => Promise<unknown>])[] = [
  [
    'revoked by an owner',
    ({ tenant, key }) =>
      expectStatus(service.request(`DELETE /v1/api-keys/${key.id}`, { token: tenant.owner.token }), 200),
  ],
  [
    'revoked by whoever has it',
    ({ key }) => expectStatus(service.request('POST /v1/api-keys/revoke', { body: { key: key.key } }), 204),
  ],
  [
    'rotated without an overlap',
    ({ tenant, key }) =>
      expectStatus(
        service.request(`POST /v1/api-keys/${key.id}/rotate`, {
          token: tenant.owner.token,
          body: { overlap_seconds: 0 },
        }),
        200,
      ),
  ],
  ['revoked by an operator', ({ key }) => byOperator({ command: 'revoke-api-key', id: key.id })],
  ['revoked as leaked', ({ key }) => byOperator({ command: 'revoke-leaked-keys', keys: [key.key] })],
  [
    'of a tenant that is suspended',
    ({ tenant }) => byOperator({ command: 'set-status', slug: tenant.slug, status: 'suspended' }),
  ],
]

// 100 rounds in all, a fifth of them in `npm test`.
it.for(ENDS)('commits no write of a key after the response that it is %s', async ([, end]) => {
  const outcome = { early: 0, late: 0, endings: new Set<number>() }
  for (const _ of rounds(17, () => outcome.early > 0)) {
    const tenant = await service.newTenant('owner')
    const key = await mintKey(service.sql, { tenant: tenant.id, permissions: ['deal.write'] })
    const rows = async () =>
      (await service.sql`select from app.designs where tenant_id = ${tenant.id} and created_by_key = ${key.id}`).length
    const write = async () => {
      for (;;) {
        const body = { op: randomUUID(), set: randomUUID(), hold_ms: 3 }
        const { status } = await service.request('POST /v1/test/designs', { token: key.key, body })
        // 503 is a lock that a slow machine waited for too long. A client sends the request again.
        if (status === 201 || status === 503) continue
        outcome.endings.add(status)
        return
      }
    }
    const writers = Promise.all(Array.from({ length: WRITERS }, write))
    // The writers are at random steps.
    await delay(5 + Math.random() * 25)
    await end({ tenant, key })
    const atTheAnswer = await rows()
    await writers
    outcome.early += atTheAnswer
    outcome.late += (await rows()) - atTheAnswer
  }
  expect(outcome.early).toBeGreaterThan(0)
  expect(outcome.late).toBe(0)
  expect([...outcome.endings]).toEqual([401])
})

it('refuses no request of a program that is given each new secret of a key within the overlap', async () => {
  const { id, owner } = await service.newTenant('owner')
  const { id: keyId, key } = await mintKey(service.sql, { tenant: id, permissions: ['deal.read', 'deal.write'] })
  let current = key
  const over = new AbortController()
  const statuses = new Map<number, number>()
  /** The secret that each worker sends at the moment. */
  const sent = Array.from({ length: WRITERS }, () => key)
  const use = async (worker: number) => {
    while (!over.signal.aborted) {
      sent[worker] = current
      const body = { op: randomUUID(), set: randomUUID(), hold_ms: 2 }
      const { status } = await (worker % 2 === 0
        ? service.request('GET /v1/deals', { token: current })
        : service.request('POST /v1/test/designs', { token: current, body }))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const users = Promise.all(Array.from({ length: WRITERS }, (_, worker) => use(worker)))
  for (const _ of rounds(50)) {
    const { status, body } = await service.request(`POST /v1/api-keys/${keyId}/rotate`, {
      token: owner.token,
      body: { overlap_seconds: 60 },
    })
    expect(status).toBe(200)
    // For a while the program has the previous secret. The next rotation ends it.
    await delay(20)
    current = body.key
    await vi.waitFor(() => expect(new Set(sent)).toEqual(new Set([current])), { timeout: 10_000, interval: 5 })
  }
  over.abort()
  await users
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 201])
})
