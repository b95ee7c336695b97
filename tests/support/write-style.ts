import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'

const writeStyle = endpoint({
  route: 'POST /v1/test/styles',
  access: { permission: 'deal.write' },
  summary: 'Write a style',
  body: v.object({
    // What the write and the set that it belongs to are called; its row carries both.
    op: v.pipe(v.string(), v.uuid()),
    brand: v.pipe(v.string(), v.uuid()),
    // How long the transaction stays open after its row was inserted.
    hold_ms: v.optional(v.number(), 0),
    // An advisory lock that it then waits for.
    gate: v.nullish(v.number(), null),
  }),
  reply: v.object({ op: v.string(), email: v.string(), tenant_id: v.string() }),
  async handle({ body: { op, brand, hold_ms, gate }, principal, sql }) {
    // The style number is new in every run of this handler, so that a write that ran twice leaves two rows.
    await sql`
      insert into app.styles (tenant_id, style_number, name, brand, category)
      values (${principal.tenant.id}, ${randomUUID()}, ${op}, ${brand}, 'Test')`
    if (hold_ms > 0) await sql`select pg_sleep(${hold_ms / 1000})`
    if (gate !== null) await sql`select pg_advisory_xact_lock(${gate})`
    return { status: 201, body: { op, email: principal.user.email, tenant_id: principal.tenant.id }, headers: {} }
  },
})

/** A route group of the tests' own: a write in a tenant's transaction, through the same pipeline as every other. */
export const writes = routeGroup({
  name: 'test',
  bodyLimitBytes: 4096,
  endpoints: [writeStyle],
})
