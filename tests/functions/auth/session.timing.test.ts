import { describe, expect, it, vi } from 'vitest'
import { mintSession } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

describe('the idle expiry', () => {
  it('slides a session by HOT updates only: no index contains the columns that change', async () => {
    const { token } = await mintSession(service.sql, { email: 'sales@acme.test', slug: 'acme-print' })
    const statistics = async (): Promise<{ updates: number; inPlace: number }> => {
      const [table] = await service.sql<{ updates: number; inPlace: number }[]>`
        select n_tup_upd::int as updates, n_tup_hot_upd::int as "inPlace" from pg_stat_user_tables
         where relid = 'app.sessions'::regclass`
      return table ?? { updates: Number.NaN, inPlace: Number.NaN }
    }
    const before = await statistics()
    for (let use = 0; use < 200; use += 1) {
      expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
    }
    // A connection of the service reports its statistics when it has been idle for ten seconds.
    const reported = async () => expect((await statistics()).updates - before.updates).toBe(200)
    await vi.waitFor(reported, { timeout: 30_000, interval: 500 })
    const after = await statistics()
    // Postgres prunes old row versions when it reads a page, unless another transaction may still see them.
    expect(after.inPlace - before.inPlace).toBeGreaterThanOrEqual(198)
    const indexed = await service.sql`
      select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
       where i.indrelid = 'app.sessions'::regclass and a.attname in ('idle_expires_at', 'last_seen_at')`
    expect(indexed).toEqual([])
  })
})
