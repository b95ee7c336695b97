import { expect, it } from 'vitest'
import { orRefused } from '#functions/workers/operate/database-failure.ts'
import { loginOf } from '#infra/local/postgres/database.ts'
import { connected } from '#shared/db/sign-in.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const done = { done: {} }

it('says that nothing changed when a lock was not free in time', async () => {
  await service.sql.begin(async (holder) => {
    await holder`lock table app.tenants`
    const outcome = await orRefused(() =>
      service.sql.begin(async (tx) => {
        await tx`set local lock_timeout = '1ms'`
        await tx`update app.tenants set legal_name = legal_name`
        return done
      }),
    )
    expect(outcome).toEqual({ refused: expect.stringContaining('changed nothing. Run the command again') })
  })
})

it('names the page to read when nobody listens, and that the command may be done', async () => {
  const login = { ...loginOf(service.database.appUrl), port: 1 }
  const outcome = await orRefused(async () => {
    await connected(login, null, (sql) => sql`select`)
    return done
  })
  expect(outcome).toEqual({ refused: expect.stringContaining('infra/runbook/database.md') })
})

it('hides no other error', async () => {
  await expect(orRefused(() => service.sql`select 1 / 0`.then(() => done))).rejects.toThrow('division by zero')
})
