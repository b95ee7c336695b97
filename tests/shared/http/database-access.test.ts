import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { beforeAll, expect, it } from 'vitest'
import type { TicketBytes } from '#shared/db/calls.ts'
import { parseAccess } from '#shared/http/access.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { noContent, ok } from '#shared/http/reply.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { useService } from '#tests/support/test.ts'

const PERMISSION = 'member.manage'
const JOB = { template: 'membership-added', user_id: randomUUID() } as const

const common = { summary: 'A test', reply: v.object({ ways: v.array(v.string()), database: v.boolean() }) }

/** Returns the ways to the database that a request context has. */
const waysOf = async (context: object & { readonly runtime: object }) => {
  const ways = ['sql', 'call'].filter((way) => way in context)
  return ok<{ ways: string[]; database: boolean }>({ ways, database: 'database' in context.runtime })
}

const endpoints = [
  endpoint({ ...common, route: 'GET /v1/test/tenant', access: { permission: PERMISSION }, handle: waysOf }),
  endpoint({ ...common, route: 'PUT /v1/test/tenant', access: { permission: PERMISSION }, handle: waysOf }),
  endpoint({
    ...common,
    route: 'POST /v1/test/tenant/by-handle',
    access: { permission: PERMISSION, transactions: 'by handle' },
    handle: waysOf,
  }),
  endpoint({
    ...common,
    route: 'POST /v1/test/tenant/by-call',
    access: { permission: PERMISSION, transactions: 'by call' },
    handle: waysOf,
  }),
  endpoint({ ...common, route: 'GET /v1/test/session', access: 'session', handle: waysOf }),
  endpoint({ ...common, route: 'PUT /v1/test/session', access: 'session', handle: waysOf }),
  endpoint({
    ...common,
    route: 'POST /v1/test/session/by-handle',
    access: { session: true, transactions: 'by handle' },
    handle: waysOf,
  }),
  endpoint({
    ...common,
    route: 'POST /v1/test/session/by-call',
    access: { session: true, transactions: 'by call' },
    handle: waysOf,
  }),
  endpoint({ ...common, route: 'GET /v1/test/anyone', access: 'anyone', needs: ['database'], handle: waysOf }),
  endpoint({ ...common, route: 'GET /v1/test/nothing', access: 'anyone', handle: waysOf }),
]

const foreignTicket = endpoint({
  route: 'GET /v1/test/foreign-ticket',
  access: 'session',
  summary: 'A test',
  async handle({ call }) {
    await call`select ${new Uint8Array(8) as TicketBytes}::bytea as forged`
    return noContent()
  },
})

const group = routeGroup({ name: 'ways', bodyLimitBytes: 1024, endpoints: [...endpoints, foreignTicket] })
const service = useService({ groups: [group] })
let token: string
beforeAll(async () => {
  token = (await service.newTenant('admin')).admin.token
})

it.each([
  ['GET /v1/test/tenant', ['sql']],
  ['PUT /v1/test/tenant', ['sql']],
  ['POST /v1/test/tenant/by-handle', ['sql']],
  ['POST /v1/test/tenant/by-call', ['sql', 'call']],
  ['GET /v1/test/session', ['call']],
  ['PUT /v1/test/session', ['sql']],
  ['POST /v1/test/session/by-handle', ['sql']],
  ['POST /v1/test/session/by-call', ['call']],
  ['GET /v1/test/anyone', ['sql', 'call']],
  ['GET /v1/test/nothing', []],
])('gives %s only the ways to the database that its access grants: %j', async (route, ways) => {
  expect((await service.request(route, { token })).body).toEqual({ ways, database: false })
})

it('keeps what else an access says beside who opens the transactions', () => {
  const { access, opener } = parseAccess({ permission: PERMISSION, exclusive: true, transactions: 'by handle' })
  expect({ access, opener }).toEqual({ access: { permission: PERMISSION, exclusive: true }, opener: 'by handle' })
  expect(parseAccess({ session: true, transactions: 'by call' })).toMatchObject({
    access: 'session',
    opener: 'by call',
  })
  expect(parseAccess('anyone')).toEqual({ access: 'anyone', opener: null, stepUp: null })
})

it('leaves the step-up out of who may call', () => {
  expect(parseAccess({ permission: PERMISSION, exclusive: true, stepUp: true })).toEqual({
    access: { permission: PERMISSION, exclusive: true },
    opener: null,
    stepUp: true,
  })
  expect(parseAccess({ session: true, transactions: 'by call', stepUp: 'again' })).toEqual({
    access: 'session',
    opener: 'by call',
    stepUp: 'again',
  })
  const summary = 'A test'
  endpoint({
    route: 'POST /v1/writes',
    // @ts-expect-error no transaction of the pipeline checks that a step-up is newer than the sign-in
    access: { session: true, transactions: 'by handle', stepUp: 'again' },
    summary,
    handle: async () => noContent(),
  })
  endpoint({
    route: 'POST /v1/writes',
    // @ts-expect-error nor one of a tenant
    access: { permission: PERMISSION, stepUp: 'again' },
    summary,
    handle: async () => noContent(),
  })
})

it('sends no call whose first value is not the ticket of the request', async () => {
  expect((await service.request('GET /v1/test/foreign-ticket', { token })).status).toBe(500)
})

it('compiles no write outside of the transaction that checks the principal', () => {
  const route = 'POST /v1/writes'
  const summary = 'A test'
  endpoint({
    route,
    access: { permission: PERMISSION },
    summary,
    async handle({ runtime, sql }) {
      await enqueue(sql, 'mail', JOB)
      // @ts-expect-error the runtime of a request has no database
      await enqueue(runtime.database.sql, 'mail', JOB)
      return noContent()
    },
  })
  endpoint({
    route,
    access: { permission: PERMISSION, transactions: 'by handle' },
    summary,
    async handle({ runtime, sql }) {
      await sql.write((tx) => enqueue(tx, 'mail', JOB))
      // @ts-expect-error the runtime of a request has no database
      await runtime.database.write((tx) => enqueue(tx, 'mail', JOB))
      // @ts-expect-error these are transactions, and no statement runs outside of them
      await enqueue(sql, 'mail', JOB)
      return noContent()
    },
  })
  endpoint({
    route,
    access: { permission: PERMISSION, transactions: 'by call' },
    summary,
    async handle({ call, sql, principal: { ticket } }) {
      await ticket.present((bytes) => call`select app.is_own_password(${bytes}, ${Buffer.of()})`)
      // @ts-expect-error a call passes the ticket first
      await call`delete from app.jobs where id = ${randomUUID()}`
      // @ts-expect-error a call writes no rows by itself
      await enqueue(call, 'mail', JOB)
      // @ts-expect-error reads, and nothing else
      await sql.write((tx) => enqueue(tx, 'mail', JOB))
      return noContent()
    },
  })
  endpoint({
    route: 'GET /v1/reads',
    access: 'session',
    summary,
    async handle(context) {
      // @ts-expect-error a read of a session only calls functions
      await enqueue(context.sql, 'mail', JOB)
      return noContent()
    },
  })
  expect(group.endpoints).toHaveLength(11)
})
