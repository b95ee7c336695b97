import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { operate } from '#functions/workers/operate/operate.ts'
import { verifyDueAccounts } from '#functions/workers/verify-vendors/verify.ts'
import { json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'
import type { Database } from '#shared/db/connect.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { proofFor } from '#tests/support/proof.ts'
import { connectTo } from '#tests/support/access.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { type Answer, MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { inOneWindow } from '#tests/support/one-window.ts'
import { useService } from '#tests/support/test.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'

// These tests change state while a request or a job waits for the vendor.

const LIMIT = 40

let verdict = 200
let asked = 0
let hold: { arrived: () => void; answer: Promise<number> } | null = null

const vendor = await startHttpServer({
  answer: async (): Promise<LocalReply> => {
    asked += 1
    const held = hold
    hold = null
    held?.arrived()
    const status = held === null ? verdict : await held.answer
    return json(status, [])
  },
})
afterAll(() => vendor.close())
const service = useService({
  env: { VENDOR_TENANT_LIMIT: String(LIMIT), VENDOR_URLS: JSON.stringify({ 'ss-activewear': vendor.url }) },
})
let operators: Database
beforeAll(() => {
  operators = connectTo(service.database.operatorUrl)
})
afterAll(() => operators.close())
afterEach(() => {
  verdict = 200
})

type Tenant = TestTenant<'admin'>
const newTenant = (): Promise<Tenant> => service.newTenant('admin')

const post = ({ admin: { token } }: Tenant, secret = 'a secret') =>
  service.request('POST /v1/vendor-accounts', { token, body: { vendor: 'ss-activewear', account_number: '1', secret } })
const put = ({ admin: { token } }: Tenant, id: string, secret = 'another secret') =>
  service.request(`PUT /v1/vendor-accounts/${id}/secret`, { token, body: { secret } })
const verify = ({ admin: { token } }: Tenant, id: string) =>
  service.request(`POST /v1/vendor-accounts/${id}/verify`, { token })
const revoke = ({ admin: { token } }: Tenant, id: string) =>
  service.request(`DELETE /v1/vendor-accounts/${id}`, { token })

async function connected(tenant: Tenant, secret?: string): Promise<string> {
  const { status, body } = await post(tenant, secret)
  expect(status).toBe(200)
  return body.id
}

/** Connects an account while its vendor is down. Its job is still waiting. */
async function waiting(tenant: Tenant): Promise<string> {
  verdict = 500
  const id = await connected(tenant)
  verdict = 200
  return id
}

/** Runs `between` while the vendor delays its response to `request`. */
async function during<T>(request: () => Promise<T>, status: number, between: () => Promise<unknown>): Promise<T> {
  let answer: (status: number) => void = () => {}
  const arrived = new Promise<void>((resolve) => {
    hold = {
      arrived: resolve,
      answer: new Promise((release) => {
        answer = release
      }),
    }
  })
  const requested = request()
  await arrived
  await between()
  answer(status)
  return requested
}

const stored = async (tenant: Tenant) => {
  const rows = await service.sql`
    select id, status, secret_version, last_error, sealed_secret is null as erased from app.vendor_accounts
     where tenant_id = ${tenant.id} order by created_at`
  return Array.from(rows)
}
const audited = async (tenant: Tenant): Promise<string[]> =>
  (
    await service.sql<{ action: string }[]>`
      select action from app.audit_log where tenant_id = ${tenant.id} and action like 'vendor_account.%'
       order by occurred_at`
  ).map(({ action }) => action.replace('vendor_account.', ''))

const secretOf = async ({ id }: Tenant, accountId: string) => {
  const opening = { reason: 'catalog', requestId: null } as const
  const account = { proof: proofFor(service.sql, id), tenantId: id, accountId }
  return (await openVendorCredential(service.runtime.vault, account, opening))?.secret ?? null
}

const verifyDue = async (): Promise<number> => {
  await service.sql`update app.jobs set run_at = now() where kind = 'verify-vendor' and completed_at is null and dead_at is null`
  return verifyDueAccounts(service.worker, () => false)
}
const jobOf = async (id: string) => {
  const [job] = await service.sql`
    select attempts, completed_at is not null as completed, dead_at is not null as dead, last_error from app.jobs
     where payload->>'account_id' = ${id}`
  return { ...job }
}

describe('a check of a secret that is replaced at the same time', () => {
  it.each([
    ['accepted', 200],
    ['refused', 401],
    ['left without a response', 500],
  ])('keeps the state of the new secret when a check of the old one is %s', async (_, status) => {
    const tenant = await newTenant()
    const id = await connected(tenant)
    const answer = await during(
      () => verify(tenant, id),
      status,
      async () => expect((await put(tenant, id)).status).toBe(200),
    )
    expect(answer.status).toBe(status === 500 ? 503 : 200)
    if (status !== 500) expect(answer.body).toMatchObject({ status: 'verified', last_error: null })
    expect(await stored(tenant)).toEqual([
      { id, status: 'verified', secret_version: 2, last_error: null, erased: false },
    ])
    expect(await audited(tenant)).toEqual(['created', 'opened', 'secret_replaced'])
    expect(await secretOf(tenant, id)).toBe('another secret')
  })

  it('keeps the state of the new secret when a job checks the old one', async () => {
    const tenant = await newTenant()
    const id = await waiting(tenant)
    await during(verifyDue, 401, async () => expect((await put(tenant, id)).status).toBe(200))
    expect(await stored(tenant)).toEqual([
      { id, status: 'verified', secret_version: 2, last_error: null, erased: false },
    ])
    expect(await audited(tenant)).toEqual(['created', 'opened', 'secret_replaced'])
  })
})

describe('an account that is revoked during the check', () => {
  it.each<[string, (tenant: Tenant, id: string) => Promise<Answer>]>([
    ['a check', verify],
    ['a replacement', put],
  ])('keeps an account revoked during %s, which returns 404', async (_, request) => {
    const tenant = await newTenant()
    const id = await connected(tenant)
    const answer = await during(
      () => request(tenant, id),
      200,
      async () => expect((await revoke(tenant, id)).status).toBe(200),
    )
    expect(answer.status).toBe(404)
    expect(await stored(tenant)).toEqual([expect.objectContaining({ id, status: 'revoked', erased: true })])
  })

  it('keeps an account revoked during a check by a job', async () => {
    const tenant = await newTenant()
    const id = await waiting(tenant)
    await during(verifyDue, 200, () => revoke(tenant, id))
    expect(await stored(tenant)).toEqual([expect.objectContaining({ id, status: 'revoked', erased: true })])
    expect(await jobOf(id)).toMatchObject({ completed: true })
  })
})

describe('a member who loses access during the check', () => {
  const takings: [string, number, (tenant: Tenant) => Promise<unknown>][] = [
    [
      'whose role was taken',
      403,
      ({ admin }) => service.sql`update app.memberships set role_id = 7 where id = ${admin.membershipId}`,
    ],
    [
      'who was removed',
      401,
      ({ admin }) => service.sql`update app.memberships set revoked_at = now() where id = ${admin.membershipId}`,
    ],
    [
      'whose session was ended',
      401,
      ({ admin }) => service.sql`update app.sessions set revoked_at = now() where id = ${admin.id}`,
    ],
    [
      'whose session acts elsewhere',
      403,
      ({ admin }) => service.sql`update app.sessions set tenant_id = null where id = ${admin.id}`,
    ],
    [
      'whose tenant was suspended',
      401,
      async ({ slug }) => {
        const worker = { ...service.worker, pepper: PEPPER, mailKey: MAIL_KEY, database: operators }
        expect(await operate(worker, { command: 'set-status', slug, status: 'suspended' }, INSTRUCTION)).toHaveProperty(
          'done',
        )
      },
    ],
  ]
  it.each(takings)(
    'rejects a vendor account request of a member %s with %i and stores nothing',
    async (_, status, take) => {
      const requests: ((tenant: Tenant, id: string) => Promise<Answer>)[] = [
        (tenant) => post(tenant, 'too late'),
        put,
        verify,
      ]
      for (const request of requests) {
        const tenant = await newTenant()
        const id = await connected(tenant)
        const before = await stored(tenant)
        const answer = await during(
          () => request(tenant, id),
          200,
          () => take(tenant),
        )
        expect(answer.status).toBe(status)
        expect(answer.text).not.toContain('secret')
        expect(await stored(tenant)).toEqual(before)
        expect((await audited(tenant)).filter((action) => action !== 'opened')).toEqual(['created'])
        expect(await secretOf(tenant, id)).toBe('a secret')
      }
    },
  )
})

describe('VENDOR_TENANT_BURST', () => {
  const hurried = useService({
    env: { VENDOR_TENANT_BURST: '3', VENDOR_URLS: JSON.stringify({ 'ss-activewear': vendor.url }) },
  })

  it('allows a tenant a few concurrent vendor checks, so that other tenants find a free instance', async () => {
    const { admin: other } = await hurried.newTenant('admin')
    const body = { vendor: 'ss-activewear', account_number: '1', secret: 'a secret' }
    const connect = (token: string) => hurried.request('POST /v1/vendor-accounts', { token, body })
    const answers = await inOneWindow(10, async () => {
      const { admin } = await hurried.newTenant('admin')
      return Promise.all(Array.from({ length: 6 }, () => connect(admin.token)))
    })
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3)
    expect((await connect(other.token)).status).toBe(200)
  })
})

describe('VENDOR_TENANT_LIMIT', () => {
  it('limits vendor checks per tenant across all routes', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    const id = await connected(tenant)
    verdict = 401
    for (let turn = 1; turn < LIMIT; turn += 1) {
      const { status } = turn % 2 === 0 ? await put(tenant, id) : await post(tenant, `guess ${turn}`)
      expect(status).toBe(422)
    }
    const before = [asked, service.vault.faults.counts().kms]
    for (const request of [() => post(tenant, 'one more'), () => put(tenant, id), () => verify(tenant, id)]) {
      expectProblem(await request(), 'rate-limited')
    }
    expect([asked, service.vault.faults.counts().kms]).toEqual(before)
    verdict = 200
    await connected(other)
    const listed = await service.request('GET /v1/vendor-accounts', { token: tenant.admin.token })
    expect([listed.status, (await revoke(tenant, id)).status]).toEqual([200, 200])
  })

  it('does not count requests that call no vendor', async () => {
    const tenant = await newTenant()
    const { token } = tenant.admin
    for (let turn = 0; turn < LIMIT; turn += 1) {
      const body = { vendor: 'ss-activewear', account_number: '1', secret: '' }
      expect((await service.request('POST /v1/vendor-accounts', { token, body })).status).toBe(422)
    }
    await connected(tenant)
  })
})
