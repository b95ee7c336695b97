import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { ok } from '#shared/http/reply.ts'
import { type Permission, PERMISSIONS } from '#shared/identity/permissions.ts'
import { text } from '#shared/schema/text.ts'
import { routesOf } from '#tests/support/routes.ts'

// A route group that exists only for tests. They test the guarantees of the pipeline on it in depth, and test a real route
// only for its own declaration.

const common = { summary: 'A probe' }

// @ts-expect-error a permission that is not in the list does not compile
const NOBODYS: Permission = 'no.role.holds.this'

const granted = [...PERMISSIONS, NOBODYS].map((permission) =>
  endpoint({
    ...common,
    route: `GET /v1/probe/permissions/${permission.replaceAll('.', '-')}`,
    access: { permission },
    reply: v.object({ permission: v.string() }),
    handle: async () => ok<{ permission: string }>({ permission }),
  }),
)

const Body = v.object({
  name: text({ max: 40, example: 'A name' }),
  count: v.optional(v.pipe(v.number(), v.examples([1]))),
})
const Echo = v.object({ body: v.string() })

const write = endpoint({
  ...common,
  route: 'PUT /v1/probe/write',
  access: { permission: 'member.manage' },
  body: Body,
  reply: Echo,
  handle: async ({ body }) => ok<{ body: string }>({ body: JSON.stringify(body) }),
})
const open = endpoint({
  ...common,
  route: 'POST /v1/probe/open',
  access: 'anyone',
  body: Body,
  reply: Echo,
  handle: async ({ body }) => ok<{ body: string }>({ body: JSON.stringify(body) }),
})
const session = endpoint({
  ...common,
  route: 'GET /v1/probe/session',
  access: 'session',
  reply: v.object({}),
  handle: async (_context) => ok<object>({}),
})
const item = endpoint({
  ...common,
  route: 'GET /v1/probe/items/{id}',
  access: { permission: 'member.manage' },
  reply: v.object({ id: v.string() }),
  handle: async ({ params: { id } }) => ok<{ id: string }>({ id }),
})

export const probes = routeGroup({
  name: 'probe',
  bodyLimitBytes: 1024,
  endpoints: [...granted, write, open, session, item],
})

export const probeRoutes = routesOf(probes)

const named = (name: string) => {
  const route = probeRoutes.find((route) => route.name === name)
  if (route === undefined) throw new Error(`no probe ${name}`)
  return route
}
/** A read and a write that require a permission, and a read that requires a session only. */
export const READ = named('GET /v1/probe/permissions/member-manage')
export const WRITE = named('PUT /v1/probe/write')
export const SESSION = named('GET /v1/probe/session')
export const OPEN = named('POST /v1/probe/open')
export const ITEM = named('GET /v1/probe/items/{id}')
