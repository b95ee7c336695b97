import * as v from 'valibot'
import { beforeAll, expect, it } from 'vitest'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { JSON_TYPE } from '#shared/http/media-type.ts'
import { ok } from '#shared/http/reply.ts'
import { problemTitle } from '#shared/base/problem.ts'
import { useService } from '#tests/support/test.ts'

// A group that speaks another protocol than the rest of the API: SCIM (RFC 7644) has its own media type, its own errors and
// ids that are text.

const SCIM = 'application/scim+json'
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'

const echo = endpoint({
  route: 'PUT /v1/test/scim/{name}',
  params: v.object({ name: v.pipe(v.string(), v.regex(/^[a-z.]{1,20}$/)) }),
  access: { permission: 'member.manage' },
  summary: 'A test',
  accepts: [SCIM, JSON_TYPE],
  body: v.object({ active: v.boolean() }),
  reply: v.object({ name: v.string(), active: v.boolean() }),
  handle: async ({ params, body }) =>
    ok<{ name: string; active: boolean }>({ name: params.name, ...body }, { headers: { 'content-type': SCIM } }),
})

const group = routeGroup({
  name: 'scim',
  bodyLimitBytes: 100,
  endpoints: [echo],
  showProblem: (problem) => ({
    contentType: SCIM,
    body: { schemas: [ERROR], status: String(problem.status), detail: problemTitle(problem) },
  }),
})

const service = useService({ groups: [group] })
let token: string
let viewer: string
beforeAll(async () => {
  const tenant = await service.newTenant('admin', 'viewer')
  token = tenant.admin.token
  viewer = tenant.viewer.token
})

const put = (path: string, contentType: string, body = '{"active":true}', sent = token) =>
  service.request(`PUT /v1/test/scim/${path}`, { token: sent, body, headers: { 'content-type': contentType } })

it.each([SCIM, `${SCIM}; charset=utf-8`, JSON_TYPE])('reads a body that is sent as %s', async (contentType) => {
  const { status, headers, body } = await put('ann.lee', contentType)
  expect([status, headers.get('content-type'), body]).toEqual([200, SCIM, { name: 'ann.lee', active: true }])
})

it.each([
  ['a parameter that does not parse', 404, () => put('ANN', SCIM)],
  ['a media type that the endpoint does not accept', 415, () => put('ann', 'application/merge-patch+json')],
  ['a form', 415, () => put('ann', 'application/x-www-form-urlencoded', 'active=true')],
  ['a charset other than UTF-8', 415, () => put('ann', `${SCIM}; charset=latin1`)],
  ['malformed JSON', 400, () => put('ann', SCIM, '{')],
  ['an invalid field', 422, () => put('ann', SCIM, '{"active":1}')],
  ['a body that is too large', 413, () => put('ann', SCIM, `{"active":true,"more":"${'x'.repeat(100)}"}`)],
  ['a missing permission', 403, () => put('ann', SCIM, '{}', viewer)],
  ['no live session', 401, () => put('ann', SCIM, '{}', 'nothing')],
  ['a method that the path does not have', 405, () => service.request('GET /v1/test/scim/ann', { token })],
])('shows %s as the group shows its failures', async (_what, status, ask) => {
  const answer = await ask()
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe(SCIM)
  expect(answer.body).toEqual({ schemas: [ERROR], status: String(status), detail: expect.any(String) })
  expect(answer.headers.get('x-request-id')).not.toBeNull()
})

it('leaves the failures of other groups as problem details', async () => {
  const { headers } = await service.request('GET /v1/members', { token: viewer })
  expect(headers.get('content-type')).toBe('application/problem+json')
})
