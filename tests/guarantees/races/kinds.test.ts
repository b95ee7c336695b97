import type postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { operate } from '#functions/workers/operate/operate.ts'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { createServiceLogin, type ServiceLogin } from '#tests/support/service-login.ts'
import { useService } from '#tests/support/test.ts'
import { writes } from '#tests/support/write-design.ts'
import { connectWithoutTimeouts, HOLDERS, HOLDERS_OF_ALL, lateDesigns, newPerson } from './held.ts'
import { KINDS } from './kinds.ts'
import type { Kind } from './race.ts'

const service = useService({
  groups: [writes],
  env: { INVITE_TENANT_LIMIT: '1000000', FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000' },
})
let operatorDatabase: Database
let shop: ServiceLogin
beforeAll(async () => {
  operatorDatabase = connectTo(service.database.operatorUrl, { connections: 10, prepare: true })
  shop = await createServiceLogin(service.sql, service.database.appUrl)
})
afterAll(async () => {
  await operatorDatabase.close()
  await service.sql.unsafe(`drop role ${shop.role}`)
})

const thorough = inject('thorough')
type Holder = (typeof HOLDERS)[string] | null

/** Runs a round for each holder, all at the same time: each has a tenant of its own. */
async function run(kind: Kind, holders: readonly Holder[]): Promise<void> {
  const connections: postgres.Sql[] = []
  const open = (url: string): postgres.Sql => {
    const sql = connectWithoutTimeouts(url)
    connections.push(sql)
    return sql
  }
  try {
    const rounds = []
    for (const hold of holders) {
      const person = await newPerson(service)
      const world = {
        service,
        held: hold !== null,
        command: async (order: Parameters<typeof operate>[1]) => {
          const runtime = { ...service.runtime, database: operatorDatabase, pepper: PEPPER, mailKey: MAIL_KEY }
          return 'done' in (await operate(runtime, order, INSTRUCTION))
        },
      }
      const round = await kind(world, person)
      rounds.push({ hold, person, round })
    }
    for (const { hold, person } of rounds) await hold?.({ service, shop, person, open })
    const raced = await Promise.allSettled(
      rounds.map(async ({ person, round }) => ({
        holds: await round(),
        person,
        late: await lateDesigns(service, person),
      })),
    )
    await Promise.all(connections.map((sql) => sql`commit`.catch(() => {})))
    for (const result of raced) {
      if (result.status === 'rejected') throw result.reason
      const { holds, person, late } = result.value
      await holds()
      const { body } = await service.request('GET /v1/auth/session', { token: person.member.token })
      // Some races leave this person's access as it was.
      if (body.permissions?.includes('deal.write')) continue
      expect(await lateDesigns(service, person), 'no held write commits after the answer').toBe(late)
    }
  } finally {
    await Promise.all(connections.map((sql) => sql.end({ timeout: 0 })))
  }
}

const inGroups = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))

describe.each(Object.entries(KINDS).map(([title, kind], n) => ({ title, kind, n })))('a race', ({ title, kind, n }) => {
  it(title, async () => {
    const free = Array.from({ length: thorough ? 50 : 4 }, () => null)
    for (const group of inGroups(free, 4)) await run(kind, group)
  })

  // A round takes 0.7 s and more, until the held transaction is ended. So there are two with each holder, some at the same time.
  // A lock that everybody needs is held in a round of its own. `npm test` takes one holder, for a third of the kinds.
  it.runIf(thorough || n % 3 === 0)(`${title}, while a transaction is held that nothing else ends`, async () => {
    const holders = Object.values(HOLDERS)
    if (!thorough) return run(kind, holders.slice((n / 3) % holders.length).slice(0, 1))
    for (const group of inGroups([...holders, ...holders], 3)) await run(kind, group)
    for (const hold of Object.values(HOLDERS_OF_ALL)) await run(kind, [hold])
  })
})
