import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { rounds } from '#tests/support/rounds.ts'
import { type Answer, PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { writes } from '#tests/support/write-design.ts'

const service = useService({ groups: [writes] })

const tenantIds = async (): Promise<{ acme: string; bolt: string }> => {
  const rows = await service.sql<{ slug: string; id: string }[]>`select slug, id from app.tenants`
  const idOf = (slug: string) => rows.find((row) => row.slug === slug)?.id ?? ''
  return { acme: idOf('acme-print'), bolt: idOf('bolt-apparel') }
}

const jitter = (ms: number): Promise<void> => delay(Math.random() * ms)

const deadlocks = async (): Promise<number> => {
  const { admin } = service.database
  // Connections report statistics when idle; this flushes them now.
  await admin`select pg_stat_force_next_flush()`
  const [row] = await admin<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`
  return row?.deadlocks ?? -1
}

describe('concurrent requests of one session', () => {
  it('serves reads of a session while one of its writes is slow', async () => {
    const { admin } = service.database
    const token = await service.signIn('sales@acme.test', 'acme-print')
    const gate = await admin.reserve()
    await gate`select pg_advisory_lock(7001)`
    let written = false
    const body = { op: randomUUID(), set: randomUUID(), gate: 7001 }
    const write = service.request('POST /v1/test/designs', { token, body }).then((answer) => {
      written = true
      return answer
    })
    try {
      const waiting = () => admin`select from pg_locks where locktype = 'advisory' and objid = 7001 and not granted`
      while ((await waiting()).length === 0) expect(written).toBe(false)
      const [before] = await admin`select max(last_seen_at) as seen from app.sessions`
      const reads = Array.from({ length: 20 }, () => service.request('GET /v1/auth/session', { token }))
      expect(new Set((await Promise.all(reads)).map(({ status }) => status))).toEqual(new Set([200]))
      // The reads slid the expiry while the write still waits.
      const [after] = await admin`select max(last_seen_at) as seen from app.sessions`
      expect(after?.['seen'].getTime()).toBeGreaterThan(before?.['seen'].getTime())
      expect(written).toBe(false)
    } finally {
      await gate`select pg_advisory_unlock(7001)`
      gate.release()
    }
    expect((await write).status).toBe(201)
  })

  it('never deadlocks or fails with any mix of concurrent requests of one session', async () => {
    const { acme, bolt } = await tenantIds()
    const before = await deadlocks()
    const seen = new Set<number>()
    for (const _ of rounds(50, () => seen.has(201))) {
      const [token, other] = await Promise.all([
        service.signIn('both@shops.test', 'acme-print'),
        service.signIn('both@shops.test'),
      ])
      const write = () => ({ token, body: { op: randomUUID(), set: randomUUID(), hold_ms: 1 } })
      const mix = [
        () => service.request('GET /v1/auth/session', { token }),
        () => service.request('POST /v1/test/designs', write()),
        () => service.request(`POST /v1/auth/tenants/${acme}/select`, { token }),
        () => service.request('GET /v1/auth/tenants', { token }),
        () => service.request('POST /v1/test/designs', write()),
        () => service.request(`POST /v1/auth/tenants/${bolt}/select`, { token }),
        () => service.request('GET /v1/auth/sessions', { token }),
        () => service.request('DELETE /v1/auth/sessions', { token: other }),
        () => service.request('GET /v1/catalog/styles?limit=1', { token }),
        () => service.request('DELETE /v1/auth/session', { token }),
      ]
      const answers = await Promise.all(
        mix.map(async (call) => {
          await jitter(8)
          return call()
        }),
      )
      for (const { status } of answers) seen.add(status)
      await service.request('DELETE /v1/auth/session', { token: other })
    }
    // 403: a write after the switch to the tenant where this user is a viewer.
    for (const status of seen) expect([200, 201, 204, 401, 403]).toContain(status)
    expect(seen).toContain(201)
    expect(await deadlocks()).toBe(before)
  })
})

describe('concurrent selections of a tenant', () => {
  const roleIn: Readonly<Record<string, string>> = { 'acme-print': 'sales', 'bolt-apparel': 'viewer' }

  it('leaves a session in one of two concurrently selected tenants, and every response is consistent', async () => {
    const { acme, bolt } = await tenantIds()
    const winners = new Set<string>()
    for (const round of rounds(50, () => winners.size === 2)) {
      const token = await service.signIn('both@shops.test', round % 2 === 0 ? 'acme-print' : undefined)
      const select = async (id: string): Promise<void> => {
        await jitter(3)
        const { status, body, headers } = await service.request(`POST /v1/auth/tenants/${id}/select`, { token })
        expect([status, body.tenant?.id, headers.get('x-tenant-id')]).toEqual([200, id, id])
        expect(body.role.code).toBe(roleIn[body.tenant.slug])
      }
      const read = async (): Promise<void> => {
        await jitter(5)
        const { status, body, headers } = await service.request('GET /v1/auth/session', { token })
        expect(status).toBe(200)
        expect(headers.get('x-tenant-id')).toBe(body.tenant?.id ?? null)
        expect(body.role?.code).toBe(body.tenant === null ? undefined : roleIn[body.tenant.slug])
        expect(body.permissions.includes('deal.write')).toBe(body.role?.code === 'sales')
      }
      await Promise.all([select(acme), select(bolt), read(), read(), select(bolt), select(acme), read(), read()])
      const { body } = await service.request('GET /v1/auth/session', { token })
      expect([acme, bolt]).toContain(body.tenant.id)
      winners.add(body.tenant.slug)
    }
    expect([...winners].toSorted()).toEqual(['acme-print', 'bolt-apparel'])
  })

  it('keeps a session alive at every moment while tenants are selected repeatedly', async () => {
    const { acme, bolt } = await tenantIds()
    const token = await service.signIn('both@shops.test', 'acme-print')
    const over = new AbortController()
    const seen = new Set<number>()
    const read = async () => {
      while (!over.signal.aborted) seen.add((await service.request('GET /v1/auth/session', { token })).status)
    }
    const choose = async (_: unknown, index: number) => {
      for (const turn of rounds(200)) {
        const id = (turn + index) % 2 === 0 ? acme : bolt
        seen.add((await service.request(`POST /v1/auth/tenants/${id}/select`, { token })).status)
      }
    }
    const readers = Promise.all(Array.from({ length: 4 }, read))
    await Promise.all(Array.from({ length: 4 }, choose))
    over.abort()
    await readers
    expect(seen).toEqual(new Set([200]))
  })

  it('never reports a session as ended when another tenant is selected during its writes', async () => {
    const { bolt } = await tenantIds()
    const seen = new Set<number>()
    for (const _ of rounds(40, () => seen.has(201))) {
      const token = await service.signIn('both@shops.test', 'acme-print')
      const write = async () => {
        await jitter(4)
        const body = { op: randomUUID(), set: randomUUID() }
        return service.request('POST /v1/test/designs', { token, body })
      }
      const select = async () => {
        await jitter(4)
        return service.request(`POST /v1/auth/tenants/${bolt}/select`, { token })
      }
      const [selected, ...written] = await Promise.all([select(), write(), write(), write(), write()])
      expect(selected.status).toBe(200)
      for (const { status } of written) seen.add(status)
    }
    expect(seen).toContain(201)
    // A client drops its session after a 401.
    expect(seen).not.toContain(401)
    for (const status of seen) expect(status).toBeLessThan(500)
  })
})

describe('concurrent password changes', () => {
  const EMAIL = 'designer@acme.test'
  const liveSessions = () => service.sql<{ id: string }[]>`
    select s.id from app.sessions s join app.users u on u.id = s.user_id where u.email = ${EMAIL} and s.revoked_at is null`

  beforeEach(async () => {
    await reset()
  })

  const reset = async () => {
    const { admin } = service.database
    await admin`
      update app.users set disabled_at = null,
             password_hash = (select password_hash from app.users where email = 'viewer@acme.test')
       where email = ${EMAIL}`
    await admin`
      update app.sessions s set revoked_at = now() from app.users u
       where u.id = s.user_id and u.email = ${EMAIL} and s.revoked_at is null`
  }

  const change = async (token: string, to: string): Promise<Answer> => {
    await jitter(4)
    const body = { current_password: PASSWORD, new_password: to }
    return service.request('POST /v1/auth/password/change', { token, body })
  }
  const logIn = (password: string): Promise<Answer> =>
    service.request('POST /v1/auth/login', { body: { email: EMAIL, password } })

  it('lets exactly one of two sessions change the password concurrently', async () => {
    const before = await deadlocks()
    for (const round of rounds(25)) {
      await reset()
      const tokens = await Promise.all([service.signIn(EMAIL), service.signIn(EMAIL)])
      const passwords = [`the first of two sentences ${round}`, `the second of two sentences ${round}`]
      const answers = await Promise.all(tokens.map((token, index) => change(token, passwords[index] ?? '')))
      const winner = answers.findIndex(({ status }) => status === 204)
      expect(winner).not.toBe(-1)
      expect([401, 422]).toContain(answers[1 - winner]?.status)
      expect((await service.request('GET /v1/auth/session', { token: tokens[winner] })).status).toBe(200)
      expect((await service.request('GET /v1/auth/session', { token: tokens[1 - winner] })).status).toBe(401)
      expect(await liveSessions()).toHaveLength(1)
      expect((await logIn(passwords[winner] ?? '')).status).toBe(200)
      expect((await logIn(passwords[1 - winner] ?? '')).status).toBe(401)
    }
    expect(await deadlocks()).toBe(before)
  })

  it('creates no session for the old password once its change is confirmed', async () => {
    const seen = new Set<number>()
    for (const round of rounds(25)) {
      await reset()
      const token = await service.signIn(EMAIL)
      const logins = Promise.all(
        Array.from({ length: 5 }, async () => {
          await jitter(8)
          return logIn(PASSWORD)
        }),
      )
      expect((await change(token, `a sentence of round ${round} of many`)).status).toBe(204)
      const atTheAnswer = await liveSessions()
      for (const { status } of await logins) seen.add(status)
      // The change also revokes sessions created before it.
      expect(atTheAnswer).toHaveLength(1)
      expect(await liveSessions()).toEqual(atTheAnswer)
    }
    expect([200, 401]).toEqual(expect.arrayContaining([...seen]))
  })

  it('creates no session once the user is disabled', async () => {
    const { admin } = service.database
    const seen = new Set<number>()
    for (const _ of rounds(25)) {
      await reset()
      const logins = Promise.all(
        Array.from({ length: 5 }, async () => {
          await jitter(8)
          return logIn(PASSWORD)
        }),
      )
      await jitter(10)
      await admin.begin(async (tx) => {
        const [user] = await tx`update app.users set disabled_at = now() where email = ${EMAIL} returning id`
        await tx`update app.sessions set revoked_at = now() where user_id = ${user?.['id']} and revoked_at is null`
      })
      expect(await liveSessions()).toHaveLength(0)
      for (const { status } of await logins) seen.add(status)
      expect(await liveSessions()).toHaveLength(0)
    }
    expect([200, 401]).toEqual(expect.arrayContaining([...seen]))
  })
})
