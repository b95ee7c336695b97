import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { seedMemberships } from '#infra/local/seed.ts'
import { PASSWORD, startService, type TestService } from '#tests/support/service.ts'
import { writes } from '#tests/support/write-style.ts'

vi.hoisted(() => {
  process.env['POWERTOOLS_LOG_LEVEL'] = 'SILENT'
})

let service: TestService
beforeAll(async () => {
  service = await startService({ groups: [writes] })
})
afterAll(() => service.close())

interface Caller {
  readonly email: string
  readonly slug: string
  readonly role: string
  readonly token: string
  readonly sessionId: string
  readonly tenantId: string
}

const REQUESTS = 2000
const AT_ONCE = 60

it('each of 2,000 requests at the same time is answered for its own caller and in its own words', async () => {
  const callers = await Promise.all(
    seedMemberships.map(async ({ email, slug, role }): Promise<Caller> => {
      const token = await service.signIn(email, slug)
      const { body } = await service.request('GET /v1/auth/session', { token })
      return { email, slug, role, token, sessionId: body.session.id, tenantId: body.tenant.id }
    }),
  )
  const brand = randomUUID()
  const ask = async (
    route: string,
    { tenantId }: Caller,
    options: { token?: string; body?: unknown },
    status: number,
    scoped = true,
  ) => {
    const requestId = randomUUID()
    const answer = await service.request(route, { ...options, headers: { 'x-request-id': requestId } })
    expect([answer.status, answer.headers.get('x-request-id'), answer.headers.get('x-tenant-id')]).toEqual([
      status,
      requestId,
      scoped ? tenantId : null,
    ])
    if (status >= 400) expect(answer.body.instance).toBe(`urn:uuid:${requestId}`)
    return answer.body
  }
  const mayWrite = ({ role }: Caller) => ['owner', 'admin', 'sales', 'account'].includes(role)

  const kinds: readonly ((caller: Caller) => Promise<void>)[] = [
    async (caller) => {
      const { token, email, slug, role, sessionId } = caller
      const body = await ask('GET /v1/auth/session', caller, { token }, 200)
      expect([body.user.email, body.tenant.slug, body.role.code, body.session.id]).toEqual([
        email,
        slug,
        role,
        sessionId,
      ])
    },
    async (caller) => {
      const { token, sessionId } = caller
      const body = await ask('GET /v1/auth/sessions', caller, { token }, 200)
      const current = body.data.filter((session: { current: boolean }) => session.current)
      expect(current.map(({ id }: { id: string }) => id)).toEqual([sessionId])
    },
    async (caller) => {
      const { token, tenantId } = caller
      const body = await ask('GET /v1/auth/tenants', caller, { token }, 200)
      expect(body.data.map(({ tenant }: any) => tenant.id)).toContain(tenantId)
    },
    async (caller) => {
      const { token, email, tenantId } = caller
      const op = randomUUID()
      const body = await ask(
        'POST /v1/test/styles',
        caller,
        { token, body: { op, brand } },
        mayWrite(caller) ? 201 : 403,
      )
      if (mayWrite(caller)) expect(body).toEqual({ op, email, tenant_id: tenantId })
    },
    async (caller) => {
      const { token } = caller
      const body = await ask('POST /v1/auth/password/change', caller, { token, body: { new_password: 'x' } }, 422)
      expect(body.errors).toEqual([{ pointer: '#/current_password', detail: 'is required' }])
    },
    async (caller) => {
      const body = await ask('GET /v1/auth/session', caller, {}, 401, false)
      expect(body.detail).toBeUndefined()
    },
    async (caller) => {
      const credentials = { email: caller.email, password: PASSWORD }
      const body = await ask('POST /v1/auth/login', caller, { body: credentials }, 200, false)
      expect(body.user.email).toBe(caller.email)
      const { body: own } = await service.request('GET /v1/auth/session', { token: body.token })
      expect([own.user.email, own.session.id]).toEqual([caller.email, body.session.id])
    },
  ]

  let next = 0
  const work = async () => {
    for (let index = next++; index < REQUESTS; index = next++) {
      const caller = callers[(index * 7) % callers.length]
      const kind = kinds[index % kinds.length]
      if (caller !== undefined) await kind?.(caller)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))

  // Each row lies in the shop of the one who wrote it.
  const strays = await service.database.admin`
    select s.id from app.styles s where s.brand = ${brand} and s.tenant_id not in
      (select t.id from app.tenants t where t.slug in ('acme-print', 'bolt-apparel'))`
  expect(strays).toHaveLength(0)
})
