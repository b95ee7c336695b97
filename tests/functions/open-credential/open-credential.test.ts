import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { worker } from '#functions/workers/open-credential/worker.ts'
import { opener } from '#functions/workers/open-credential/open-credential.ts'
import { functionArn, type LocalLambda, startLambda } from '#infra/local/aws/lambda.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { Database } from '#shared/db/connect.ts'
import { keyService } from '#shared/vault/kms.ts'
import { decrypter } from '#shared/vault/vault.ts'
import { connectTo } from '#tests/support/access.ts'
import { type TestTenant } from '#tests/support/minted-session.ts'
import { inOneWindow } from '#tests/support/one-window.ts'
import { useService } from '#tests/support/test.ts'

type Tenant = TestTenant<'admin'>

const service = useService({ env: { VENDOR_TENANT_LIMIT: '100000' } })
const [SS] = vendorAccounts as [(typeof vendorAccounts)[0]]
const SECRET = 'planted-secret-of-the-vendor'

let database: Database
let lambda: LocalLambda
let client: LambdaClient
let tenant: Tenant
let account: string

beforeAll(async () => {
  database = connectTo(service.database.urls.opener, { connections: 4, prepare: true })
  lambda = await startLambda()
  lambda.serve(worker.name, { worker, invoke: (event, _timeoutMs, alias = '') => handle(event, alias) })
  client = new LambdaClient({
    endpoint: lambda.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
})
afterAll(async () => {
  client.destroy()
  await Promise.all([lambda.close(), database.close()])
})
beforeEach(async () => {
  tenant = await service.newTenant('admin')
  account = await connect()
})

/** Invokes it as a new instance, which has no data key in memory. */
const handle = (event: unknown, alias: string) =>
  opener(
    { config: service.runtime.config, open: async () => ({ config: service.runtime.config, database }) },
    decrypter(keyService(service.vault.kms, '')),
  )(event, { invokedFunctionArn: `${functionArn(worker.name)}:${alias}` })

/** Connects an account with any secret, because its vendor is down. */
async function connect(secret = SECRET, { admin: { token } } = tenant): Promise<string> {
  await service.vault.faults.set({ part: 'vendor', mode: 'refuse' })
  const body = { vendor: SS.code, account_number: SS.account_number, secret }
  const { status, body: connected } = await service.request('POST /v1/vendor-accounts', { token, body })
  await service.vault.faults.set({ part: 'vendor', mode: 'ok' })
  expect(status).toBe(200)
  return connected.id
}

const request = (changes: object = {}) => ({
  tenant_id: tenant.id,
  vendor: SS.code,
  reason: 'nightly stock import',
  request_id: 'request-of-a-test',
  ...changes,
})

async function invoke(event: object, alias = 'catalog') {
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName: `${functionArn(worker.name)}:${alias}`, Payload: JSON.stringify(event) }),
  )
  const body = JSON.parse(Payload?.transformToString() ?? '')
  return FunctionError === undefined ? body : { error: body.errorType, message: body.errorMessage }
}

const entries = () => service.sql`
  select actor_user_id, target_type, target_id, after, request_id from app.audit_log
   where tenant_id = ${tenant.id} and action = 'vendor_account.opened' and after ? 'service' order by occurred_at`

const setAccount = (id: string, columns: object) =>
  service.sql`update app.vendor_accounts set ${service.sql({ ...columns })} where id = ${id}`

describe('open-credential', () => {
  it('returns the credential of a vendor, and audits the reason and the service whose alias was invoked', async () => {
    const credential = { account_id: account, account_number: SS.account_number, secret: SECRET, secret_version: 1 }
    expect(await invoke(request())).toEqual(credential)
    expect(await invoke(request({ reason: ' pricing ' }), 'billing-2')).toEqual(credential)
    const entry = {
      actor_user_id: null,
      target_type: 'vendor_account',
      target_id: account,
      request_id: 'request-of-a-test',
    }
    expect(await entries()).toMatchObject([
      { ...entry, after: { reason: 'nightly stock import', service: 'catalog', secret_version: 1 } },
      { ...entry, after: { reason: 'pricing', service: 'billing-2', secret_version: 1 } },
    ])
  })

  it('chooses the account that was verified last, and none that was revoked or that the vendor refused', async () => {
    const opened = async () => (await invoke(request()))?.secret ?? null
    const second = await connect('second')
    await setAccount(account, { status: 'verified', verified_at: new Date(Date.now() - 1000) })
    expect(await opened()).toBe(SECRET)
    await setAccount(second, { status: 'verified', verified_at: new Date() })
    expect(await opened()).toBe('second')
    await setAccount(second, { status: 'unverified', last_error: 'refused' })
    expect(await opened()).toBe(SECRET)
    await setAccount(account, { status: 'unverified', last_error: 'timeout' })
    expect(await opened()).toBe(SECRET)
    await service.request(`DELETE /v1/vendor-accounts/${account}`, tenant.admin)
    expect(await opened()).toBeNull()
    expect(await entries()).toHaveLength(4)
  })

  it('returns null, without an audit entry, for a vendor or tenant without an account, and for a tenant that is not open', async () => {
    const nothing = async (changes: object = {}) => expect(await invoke(request(changes))).toBeNull()
    await nothing({ vendor: 'sanmar' })
    await nothing({ vendor: 'no-such-vendor' })
    await nothing({ tenant_id: '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b' })
    await nothing({ tenant_id: (await service.newTenant('admin')).id })
    for (const columns of [
      { status: 'suspended' },
      { status: 'cancelled' },
      { status: 'active', deleted_at: new Date() },
    ]) {
      await service.sql`update app.tenants set ${service.sql(columns)} where id = ${tenant.id}`
      await nothing()
    }
    expect(await entries()).toEqual([])
  })

  it('refuses the 61st opening of a tenant within a minute, of all services together', async () => {
    const { first, concurrent, last } = await inOneWindow(60, async () => {
      tenant = await service.newTenant('admin')
      await connect()
      await service.sql`
        insert into app.rate_limits (key, window_start, attempts)
        values (sha256(convert_to('open-credential', 'UTF8') || uuid_send(${tenant.id})),
                date_bin('1 minute', clock_timestamp(), '2000-01-01 00:00:00Z'), 58)`
      return {
        first: await invoke(request(), 'catalog'),
        concurrent: await Promise.all(Array.from({ length: 8 }, (_, n) => invoke(request(), `service-${n}`))),
        last: await invoke(request()),
      }
    })
    expect(first).toHaveProperty('secret')
    expect(concurrent.filter((body) => 'secret' in body)).toHaveLength(1)
    expect(last).toEqual({
      error: 'TooManyRequests',
      message: expect.stringMatching(/^The tenant had 60 openings within a minute. Retry after \d+ seconds$/),
    })
    expect(await entries()).toHaveLength(2)
    tenant = await service.newTenant('admin')
    await connect()
    expect(await invoke(request())).toHaveProperty('secret')
  })

  it('keeps the audit entry and returns an error, not null, when KMS does not decrypt', async () => {
    await service.vault.faults.set({ part: 'kms', mode: 'refuse' })
    const logged = await service.logged(async () => {
      expect(await invoke(request())).toEqual({ error: 'Error', message: 'the credential could not be opened' })
    })
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
    expect(logged).toContain('request-of-a-test')
    expect(await entries()).toHaveLength(1)
  })

  it('says what is wrong with a request, and repeats nothing of it, also in the log', async () => {
    const logged = await service.logged(async () => {
      for (const [changes, message] of [
        ['planted', /must be present/],
        [{ tenant_id: undefined }, /tenant_id must be/],
        [{ tenant_id: 'planted' }, /tenant_id must be a UUID/],
        [{ vendor: 'planted-Value' }, /vendor must be the code of a vendor/],
        [{ reason: ' ' }, /reason must not be empty/],
        [{ reason: 'planted\nx' }, /reason must be one line of text/],
        [{ reason: 'planted'.repeat(30) }, /reason must have at most 200 characters/],
        [{ request_id: 7 }, /request_id must be a string/],
        [{ request_id: 'planted'.repeat(20) }, /request_id must have at most 128 characters/],
        [{ 'planted-key': 1 }, /no other key/],
      ] as const) {
        const refused = await invoke(typeof changes === 'string' ? [changes] : request(changes))
        expect(refused).toEqual({ error: 'InvalidRequest', message: expect.stringMatching(message) })
        expect(refused.message).not.toContain('planted')
      }
    })
    expect(logged).not.toContain('planted')
    expect(await entries()).toEqual([])
  })

  it('refuses who does not invoke it by the alias of a service', async () => {
    for (const alias of ['live', '7', '$LATEST', ''])
      await expect(handle(request(), alias), alias).rejects.toMatchObject({ name: 'UnknownCaller' })
    await expect(invoke(request(), '')).rejects.toThrow()
    expect(await entries()).toEqual([])
  })

  it('writes no secret to the log', async () => {
    const logged = await service.logged(async () => {
      expect(await invoke(request())).toHaveProperty('secret', SECRET)
    })
    expect(logged).not.toContain(SECRET)
  })
})
