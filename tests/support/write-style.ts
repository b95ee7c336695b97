import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'

const writeStyle = endpoint({
  route: 'POST /v1/test/styles',
  access: { permission: 'deal.write' },
  summary: 'Write a style',
  body: v.object({
    // The names of the write and of its set. Its row contains both.
    op: v.pipe(v.string(), v.uuid()),
    brand: v.pipe(v.string(), v.uuid()),
    // How long the transaction stays open after the insert.
    hold_ms: v.optional(v.number(), 0),
    // An advisory lock to wait for after that.
    gate: v.nullish(v.number(), null),
  }),
  reply: v.object({ op: v.string(), email: v.string(), tenant_id: v.string() }),
  async handle({ body: { op, brand, hold_ms, gate }, principal, sql }) {
    // A random style number, so that a handler that ran twice leaves two rows.
    await sql`
      insert into app.styles (tenant_id, style_number, name, brand, category)
      values (${principal.tenant.id}, ${randomUUID()}, ${op}, ${brand}, 'Test')`
    if (hold_ms > 0) await sql`select pg_sleep(${hold_ms / 1000})`
    if (gate !== null) await sql`select pg_advisory_xact_lock(${gate})`
    return { status: 201, body: { op, email: principal.user.email, tenant_id: principal.tenant.id }, headers: {} }
  },
})

/** A route group of the tests: one write in a tenant's transaction. */
export const writes = routeGroup({
  name: 'test',
  bodyLimitBytes: 4096,
  endpoints: [writeStyle],
})
