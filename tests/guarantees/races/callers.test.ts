import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { seedMemberships } from '#infra/local/seed.ts'
import { rounds } from '#tests/support/rounds.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { writes } from '#tests/support/write-design.ts'

const service = useService({ groups: [writes] })

interface Principal {
  readonly email: string
  readonly slug: string
  readonly role: string
  readonly token: string
  readonly sessionId: string
  readonly tenantId: string
}

// More at once wait so long for one another on a busy machine that the service responds with 503.
const AT_ONCE = 12

it('returns to each of many concurrent requests the response of its own principal', async () => {
  const callers = await Promise.all(
    seedMemberships.map(async ({ email, slug, role }): Promise<Principal> => {
      const token = await service.signIn(email, slug)
      const { body } = await service.request('GET /v1/auth/session', { token })
      return { email, slug, role, token, sessionId: body.session.id, tenantId: body.tenant.id }
    }),
  )
  const set = randomUUID()
  const ask = async (
    route: string,
    { tenantId }: Principal,
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
  const mayWrite = ({ role }: Principal) => ['owner', 'admin', 'sales', 'account'].includes(role)

  const kinds: readonly ((principal: Principal) => Promise<void>)[] = [
    async (principal) => {
      const { token, email, slug, role, sessionId } = principal
      const body = await ask('GET /v1/auth/session', principal, { token }, 200)
      expect([body.user.email, body.tenant.slug, body.role.code, body.session.id]).toEqual([
        email,
        slug,
        role,
        sessionId,
      ])
    },
    async (principal) => {
      const { token, sessionId } = principal
      const body = await ask('GET /v1/auth/sessions', principal, { token }, 200)
      const current = body.data.filter((session: { current: boolean }) => session.current)
      expect(current.map(({ id }: { id: string }) => id)).toEqual([sessionId])
    },
    async (principal) => {
      const { token, tenantId } = principal
      const body = await ask('GET /v1/auth/tenants', principal, { token }, 200)
      expect(body.data.map(({ tenant }: any) => tenant.id)).toContain(tenantId)
    },
    async (principal) => {
      const { token, email, tenantId } = principal
      const op = randomUUID()
      const body = await ask(
        'POST /v1/test/designs',
        principal,
        { token, body: { op, set } },
        mayWrite(principal) ? 201 : 403,
      )
      if (mayWrite(principal)) expect(body).toEqual({ op, email, tenant_id: tenantId })
    },
    async (principal) => {
      const { token } = principal
      const body = await ask('POST /v1/auth/password/change', principal, { token, body: { new_password: 'x' } }, 422)
      expect(body.errors).toEqual([{ pointer: '#/current_password', code: 'required', detail: 'is required' }])
    },
    async (principal) => {
      const body = await ask('GET /v1/auth/session', principal, {}, 401, false)
      expect(body.detail).toBeUndefined()
    },
    async (principal) => {
      const credentials = { email: principal.email, password: PASSWORD }
      const body = await ask('POST /v1/auth/login', principal, { body: credentials }, 200, false)
      expect(body.user.email).toBe(principal.email)
      const { body: own } = await service.request('GET /v1/auth/session', { token: body.token })
      expect([own.user.email, own.session.id]).toEqual([principal.email, body.session.id])
    },
  ]

  const requests = rounds(2000)
  const work = async () => {
    // Every worker takes its next request from the same rounds.
    for (const index of requests) {
      const principal = callers[(index * 7) % callers.length]
      const kind = kinds[index % kinds.length]
      if (principal !== undefined) await kind?.(principal)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))

  // Each row belongs to the tenant of its writer.
  const strays = await service.sql`
    select d.id from app.designs d where d.name like ${`% ${set}`} and d.tenant_id not in
      (select t.id from app.tenants t where t.slug in ('acme-print', 'bolt-apparel'))`
  expect(strays).toHaveLength(0)
})
