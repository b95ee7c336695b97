import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'

const writeDesign = endpoint({
  route: 'POST /v1/test/designs',
  access: { permission: 'deal.write' },
  summary: 'Write a design',
  body: v.object({
    // The names of the write and of its set. The name of its row contains both.
    op: v.pipe(v.string(), v.uuid()),
    set: v.pipe(v.string(), v.uuid()),
    // How long the transaction stays open after the insert.
    hold_ms: v.optional(v.number(), 0),
    // An advisory lock to wait for after that.
    gate: v.nullish(v.number(), null),
  }),
  reply: v.object({ op: v.string(), email: v.string(), tenant_id: v.string() }),
  async handle({ body: { op, set, hold_ms, gate }, principal, sql }) {
    await sql`insert into app.designs (tenant_id, name) values (${principal.tenant.id}, ${`${op} ${set}`})`
    if (hold_ms > 0) await sql`select pg_sleep(${hold_ms / 1000})`
    if (gate !== null) await sql`select pg_advisory_xact_lock(${gate})`
    return {
      status: 201,
      body: {
        op,
        email: principal.kind === 'session' ? principal.user.email : principal.key.name,
        tenant_id: principal.tenant.id,
      },
      headers: {},
    }
  },
})

/** A route group of the tests: one write in a tenant's transaction. */
export const writes = routeGroup({
  name: 'test',
  bodyLimitBytes: 4096,
  endpoints: [writeDesign],
})
