import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { verifyDueAccounts } from '#functions/workers/verify-vendors/verify.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { proofFor } from '#tests/support/proof.ts'
import { VERIFY_TIMEOUT_MS } from '#shared/suppliers/vendor.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { VENDOR_TENANT_LIMIT: '100000' } })
let token: string
let tenant: string

const [SS, SANMAR] = vendorAccounts as [(typeof vendorAccounts)[0], (typeof vendorAccounts)[0]]

beforeAll(async () => {
  token = await service.signIn('owner@acme.test', 'acme-print')
  tenant = await tenantId(service.sql, 'acme-print')
})
afterEach(async () => {
  for (const part of ['kms', 'vendor']) await service.vault.faults.set({ part, mode: 'ok' })
})

const connect = (change: object = {}, as = token): Promise<Answer> =>
  service.request('POST /v1/vendor-accounts', {
    token: as,
    body: { vendor: SS.code, label: 'Main', account_number: SS.account_number, secret: SS.secret, ...change },
  })

const rows = async (): Promise<number> =>
  Number((await service.sql`select count(*) from app.vendor_accounts`)[0]?.['count'])

const fault = (part: 'kms' | 'vendor', mode: string, share = 1) => service.vault.faults.set({ part, mode, share })
const kmsCalls = () => service.vault.faults.counts().kms
const vendorCalls = () => service.vault.faults.counts().vendor

const secretOf = async (id: string): Promise<string | undefined> => {
  const opening = { reason: 'catalog', requestId: null } as const
  const account = { proof: proofFor(service.sql, tenant), tenantId: tenant, accountId: id }
  return (await openVendorCredential(service.runtime.vault, account, opening))?.secret
}

const auditOf = async (id: string): Promise<string[]> =>
  (await service.sql`select action from app.audit_log where target_id = ${id} order by occurred_at`).map(
    (row) => row['action'],
  )

const verifyDue = async (): Promise<number> => {
  await service.sql`update app.jobs set run_at = now() where kind = 'verify-vendor'`
  return verifyDueAccounts(service.worker, () => false)
}

describe('POST /v1/vendor-accounts', () => {
  it.each([SS, SANMAR])(
    'encrypts and verifies an account of $code and returns everything except the secret',
    async (vendor) => {
      const connected = await connect({ vendor: vendor.code, ...vendor, code: undefined })
      expect(connected.status).toBe(200)
      expect(connected.headers.get('x-tenant-id')).toBe(tenant)
      expect(connected.body).toEqual({
        id: expect.any(String),
        vendor: { code: vendor.code, name: expect.any(String) },
        label: 'Main',
        account_number: vendor.account_number,
        status: 'verified',
        verified_at: expect.any(String),
        checked_at: expect.any(String),
        last_error: null,
        created_by: expect.any(String),
        created_at: expect.any(String),
        rotated_at: null,
        revoked_at: null,
      })
      expect(await secretOf(connected.body.id)).toBe(vendor.secret)
      expect(await auditOf(connected.body.id)).toEqual(['vendor_account.created', 'vendor_account.opened'])
      const listed = await service.request('GET /v1/vendor-accounts', { token })
      expect(listed.body.data).toContainEqual(connected.body)
      const read = await service.request(`GET /v1/vendor-accounts/${connected.body.id}`, { token })
      expect([read.status, read.body]).toEqual([200, connected.body])
    },
  )

  it.each([
    ['secret', { secret: 'not the secret' }],
    ['account number', { account_number: '99999' }],
  ])(
    'rejects an account with vendor-rejected when the vendor refuses the %s, and stores nothing',
    async (_, change) => {
      const before = await rows()
      const refused = await connect(change)
      expectProblem(refused, 'vendor-rejected')
      expect(refused.text).not.toContain('not the secret')
      expect(await rows()).toBe(before)
    },
  )

  it.each([
    ['an unknown vendor', { vendor: 'nobody' }, '#/vendor'],
    ['no secret', { secret: undefined }, '#/secret'],
    ['an empty secret', { secret: '' }, '#/secret'],
    ['a secret with a control character', { secret: 'a\u0007b' }, '#/secret'],
    ['an account number with a colon, which HTTP Basic cannot carry', { account_number: '1:2' }, '#/account_number'],
    ['a label that is too long', { label: 'x'.repeat(101) }, '#/label'],
  ])('rejects %s with 422 without calling KMS or the vendor', async (_, change, pointer) => {
    const [kms, vendor] = [kmsCalls(), vendorCalls()]
    const refused = await connect(change)
    expect(refused.status).toBe(422)
    expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer])
    expect([kmsCalls(), vendorCalls()]).toEqual([kms, vendor])
  })

  it('stores an account as unverified while its vendor is unreachable, and verifies it later', async () => {
    await fault('vendor', 'refuse')
    const connected = await connect({ label: 'while the vendor is down' })
    expect(connected.status).toBe(200)
    expect(connected.body).toMatchObject({ status: 'unverified', verified_at: null })
    expect(connected.body.last_error).toMatch(/^[a-z_]+$/)
    expect(await verifyDue()).toBe(0)
    const [waiting] = await service.sql`
      select attempts, run_at > now() as later, dead_at from app.jobs where payload->>'account_id' = ${connected.body.id}`
    expect(waiting).toEqual({ attempts: 1, later: true, dead_at: null })

    await fault('vendor', 'ok')
    expect(await verifyDue()).toBe(1)
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    const found = listed.body.data.find(({ id }: { id: string }) => id === connected.body.id)
    expect(found).toMatchObject({ status: 'verified', last_error: null, verified_at: expect.any(String) })
    expect(await auditOf(found.id)).toEqual([
      'vendor_account.created',
      'vendor_account.opened',
      'vendor_account.opened',
      'vendor_account.verified',
    ])
    expect(await verifyDue()).toBe(0)
  })

  it('reports a credential that the vendor refuses after it was unreachable', async () => {
    await fault('vendor', 'refuse')
    const connected = await connect({ secret: 'a wrong one' })
    expect(connected.body.status).toBe('unverified')
    await fault('vendor', 'ok')
    expect(await verifyDue()).toBe(1)
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    const found = listed.body.data.find(({ id }: { id: string }) => id === connected.body.id)
    expect(found).toMatchObject({ status: 'unverified', last_error: 'refused', verified_at: null })
  })

  it('gives up on a hanging vendor and stores the account as unverified', async () => {
    await fault('vendor', 'hang')
    const { status, body } = await connect()
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'unverified', last_error: 'timeout' })])
    expect(VERIFY_TIMEOUT_MS).toBe(5000)
  })
})

describe('KMS failures', () => {
  it.each(['refuse', 'hang'])('returns 503, stores nothing and calls no vendor while KMS fails (%s)', async (mode) => {
    // This tenant has no cached data key.
    const email = `kms-${mode}@bolt.test`
    await createUser(service.sql, { email, role: 'admin', slugs: ['bolt-apparel'] })
    const { token: other } = await mintSession(service.sql, { email, slug: 'bolt-apparel' })
    await fault('kms', mode)
    const [before, asked] = [await rows(), vendorCalls()]
    const answer = await connect({}, other)
    expectProblem(answer, 'dependency-unavailable')
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await rows()).toBe(before)
    expect(vendorCalls()).toBe(asked)
    const unaffected = await Promise.all([
      service.request('GET /v1/members', { token }),
      service.request('GET /v1/vendor-accounts', { token }),
      service.request('GET /v1/auth/session', { token }),
    ])
    expect(unaffected.map(({ status }) => status)).toEqual([200, 200, 200])
    await service.signIn('viewer@bolt.test', 'bolt-apparel')
  })

  it('encrypts nothing with a cached data key while KMS is down', async () => {
    const { body } = await connect()
    expect(await secretOf(body.id)).toBe(SS.secret)
    await fault('kms', 'refuse')
    const before = await rows()
    expect((await connect()).status).toBe(503)
    const replaced = await service.request(`PUT /v1/vendor-accounts/${body.id}/secret`, {
      token,
      body: { secret: 'x' },
    })
    expect(replaced.status).toBe(503)
    expect(await rows()).toBe(before)
    // A cached data key still decrypts.
    expect(await secretOf(body.id)).toBe(SS.secret)
  })

  it('encrypts every secret while KMS refuses every fifth call', async () => {
    await fault('kms', 'refuse', 0.2)
    const place = {
      purpose: 'vendor-credential',
      tenantId: tenant,
      rowId: tenant,
      field: 'x',
      secretVersion: 1,
    } as const
    for (let round = 0; round < 20; round += 1) {
      const fresh = service.vault.openVault(service.database)
      await fresh.encrypt('a text', place, proofFor(service.sql, tenant))
      await fresh.close()
    }
  })

  it('lists vendor accounts without calling KMS', async () => {
    const before = kmsCalls()
    for (let time = 0; time < 5; time += 1) {
      expect((await service.request('GET /v1/vendor-accounts?limit=1', { token })).status).toBe(200)
    }
    expect(kmsCalls()).toBe(before)
  })
})

describe('PUT /v1/vendor-accounts/{id}/secret', () => {
  const put = (id: string, secret: string) =>
    service.request(`PUT /v1/vendor-accounts/${id}/secret`, { token, body: { secret } })

  it('replaces a secret that the vendor accepts', async () => {
    await fault('vendor', 'refuse')
    const { body } = await connect({ secret: 'an old one' })
    await fault('vendor', 'ok')
    const replaced = await put(body.id, SS.secret)
    expect(replaced.status).toBe(200)
    expect(replaced.body).toMatchObject({ id: body.id, status: 'verified', last_error: null })
    expect(replaced.body.rotated_at).not.toBeNull()
    expect(await secretOf(body.id)).toBe(SS.secret)
  })

  it('keeps the current secret when the vendor refuses the new one or is unreachable', async () => {
    const { body } = await connect()
    const refused = await put(body.id, 'wrong')
    expectProblem(refused, 'vendor-rejected')
    await fault('vendor', 'refuse')
    const unreachable = await put(body.id, 'another')
    expectProblem(unreachable, 'vendor-unreachable')
    expect(unreachable.headers.get('retry-after')).not.toBeNull()
    expect(await secretOf(body.id)).toBe(SS.secret)
  })

  it('keeps the last of several concurrent replacements', async () => {
    const { body } = await connect()
    const answers = await Promise.all(Array.from({ length: 3 }, () => put(body.id, SS.secret)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const [row] = await service.sql`select secret_version from app.vendor_accounts where id = ${body.id}`
    expect(row?.['secret_version']).toBe(4)
    expect(await secretOf(body.id)).toBe(SS.secret)
  })
})

describe('POST /v1/vendor-accounts/{id}/verify', () => {
  const verify = (id: string) => service.request(`POST /v1/vendor-accounts/${id}/verify`, { token })

  it('checks the account with its vendor and returns the result', async () => {
    await fault('vendor', 'refuse')
    const { body } = await connect()
    const down = await verify(body.id)
    expectProblem(down, 'vendor-unreachable')
    await fault('vendor', 'ok')
    expect((await verify(body.id)).body).toMatchObject({ status: 'verified', last_error: null })

    await fault('vendor', 'refuse')
    const wrong = await connect({ secret: 'wrong' })
    await fault('vendor', 'ok')
    const refused = await verify(wrong.body.id)
    expect([refused.status, refused.body.status, refused.body.last_error]).toEqual([200, 'unverified', 'refused'])
  })

  it('keeps an account verified while its vendor is unreachable', async () => {
    const { body } = await connect()
    await fault('vendor', 'refuse')
    expect((await verify(body.id)).status).toBe(503)
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    const found = listed.body.data.find(({ id }: { id: string }) => id === body.id)
    expect(found.status).toBe('verified')
    expect(found.last_error).not.toBeNull()
  })
})

describe('DELETE /v1/vendor-accounts/{id}', () => {
  it('erases the secret, keeps the row as revoked, and changes nothing the second time', async () => {
    const { body } = await connect()
    const path = `/v1/vendor-accounts/${body.id}`
    const revoked = await service.request(`DELETE ${path}`, { token })
    expect(revoked.status).toBe(200)
    expect(revoked.body).toEqual({ ...body, status: 'revoked', revoked_at: expect.any(String) })
    expect((await service.request(`DELETE ${path}`, { token })).body).toEqual(revoked.body)
    const [row] = await service.sql`
      select sealed_secret, data_key_id from app.vendor_accounts where id = ${body.id}`
    expect(row).toEqual({ sealed_secret: null, data_key_id: null })
    expect(await secretOf(body.id)).toBeUndefined()
    for (const gone of [
      service.request(`POST ${path}/verify`, { token }),
      service.request(`PUT ${path}/secret`, { token, body: { secret: SS.secret } }),
    ]) {
      expect((await gone).status).toBe(404)
    }
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    expect(listed.body.data.map(({ id }: { id: string }) => id)).not.toContain(body.id)
    const all = await service.request('GET /v1/vendor-accounts?status=revoked', { token })
    expect(all.body.data).toContainEqual(revoked.body)
    expect((await service.request(`GET ${path}`, { token })).body).toEqual(revoked.body)
    expect((await auditOf(body.id)).filter((action) => action === 'vendor_account.revoked')).toHaveLength(1)
  })
})

describe('the first secrets of a tenant', () => {
  it('creates one active data key for fifty concurrent first secrets', async () => {
    const slug = 'bolt-apparel'
    const tenant = await tenantId(service.sql, slug)
    await service.sql`delete from app.sync_runs where tenant_id = ${tenant}`
    await service.sql`delete from app.vendor_accounts where tenant_id = ${tenant}`
    await service.sql`delete from app.data_keys where tenant_id = ${tenant}`
    const owner = await service.signIn('owner@bolt.test', slug)
    const answers = await Promise.all(Array.from({ length: 50 }, () => connect({}, owner)))
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
    const keys = await service.sql`select status from app.data_keys where tenant_id = ${tenant}`
    expect(keys.map((key) => key['status'])).toEqual(['active'])
    const opening = { reason: 'catalog', requestId: null } as const
    const other = service.vault.openVault(service.database)
    const proof = proofFor(service.sql, tenant)
    for (const { body } of answers) {
      const credential = await openVendorCredential(other, { proof, tenantId: tenant, accountId: body.id }, opening)
      expect(credential?.secret).toBe(SS.secret)
    }
    await other.close()
  })
})
