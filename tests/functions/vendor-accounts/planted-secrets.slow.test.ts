import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'
import { encodings } from '#tests/support/encodings.ts'
import { createTenantWith } from '#tests/support/minted-session.ts'
import { rawRequest } from '#tests/support/raw-http.ts'
import { whileRefused } from '#tests/support/refuse-writes.ts'
import { startTestVault } from '#tests/support/vault.ts'
import { startWholeStack, type WholeStack } from '#tests/support/whole-stack.ts'
import { signedCommand } from '#tests/support/operator.ts'

// Runs the deployed functions with debug logs, before vendors and a KMS that repeat everything they receive.

const ACCOUNT = '51234'
const UNREACHED = ['broken', 'garbled', 'redirect', 'drop'] as const

let stack: WholeStack
let talkative: HttpServer[]
let vendor: 'accept' | 'refuse' | (typeof UNREACHED)[number] = 'accept'
let kms: 'ok' | 'denied' | 'failing' | 'garbled' | 'drop' = 'ok'
let answered = ''

/** The planted secrets by description; none may appear anywhere. */
const secrets = new Map<string, string>()
const dataKeys = new Set<string>()

beforeAll(async () => {
  const vault = await startTestVault()
  const talkativeVendor = await startHttpServer({
    answer: ({ headers, body }): LocalReply | 'drop' => {
      const { authorization = '' } = headers
      const credentials = Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString()
      const said = [authorization, credentials, body.toString()].join(' ')
      const location = `http://127.0.0.1/?${encodeURIComponent(said)}`
      switch (vendor) {
        case 'accept':
          return json(200, [{ styleID: 39, said }])
        case 'refuse':
          return json(401, { message: said }, { 'www-authenticate': `Basic realm="${encodeURIComponent(said)}"` })
        case 'broken':
          return json(500, { message: said })
        case 'garbled':
          return { status: 200, headers: { 'content-type': 'application/json' }, body: `[${said}` }
        case 'redirect':
          return { status: 302, headers: { location }, body: said }
        case 'drop':
          return 'drop'
      }
    },
  })
  const talkativeKms = await startHttpServer({
    answer: async ({ headers, body }): Promise<LocalReply | 'drop'> => {
      if (kms === 'drop') return 'drop'
      const response = await fetch(vault.kmsUrl, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': String(headers['x-amz-target']),
        },
        body: new Uint8Array(body),
      })
      const text = await response.text()
      const { Plaintext } = JSON.parse(text)
      if (typeof Plaintext === 'string') dataKeys.add(Plaintext)
      if (kms === 'ok')
        return { status: response.status, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: text }
      if (kms === 'garbled') return { status: 200, body: `{"Plaintext": "${Plaintext}` }
      const type = kms === 'denied' ? 'AccessDeniedException' : 'KMSInternalException'
      return json(kms === 'denied' ? 400 : 500, { __type: type, message: text }, { 'x-amzn-errortype': type })
    },
  })
  talkative = [talkativeVendor, talkativeKms]
  stack = await startWholeStack({
    functions: ['operate', 'verify-vendors', 'vendor-accounts', 'open-credential'],
    vault,
    env: {
      VENDOR_URLS: JSON.stringify({ 'ss-activewear': talkativeVendor.url, sanmar: talkativeVendor.url }),
      VENDOR_TENANT_LIMIT: '100000',
      VENDOR_TENANT_BURST: '100000',
      AWS_ENDPOINT_URL_KMS: talkativeKms.url,
      POWERTOOLS_LOG_LEVEL: 'DEBUG',
    },
  })
})
afterAll(async () => {
  await stack.close()
  for (const server of talkative) await server.close()
})

const planted = (what: string): string => {
  const secret = `S3CR3T & "canary" <${what}> ${randomUUID()}`
  secrets.set(what, secret)
  return secret
}

interface Tenant {
  readonly id: string
  readonly slug: string
  readonly token: string
}
async function newTenant(): Promise<Tenant> {
  const { id, slug, admin } = await createTenantWith(stack.database.admin, 'admin')
  return { id, slug, token: admin.token }
}

async function ask({ token }: Tenant, route: string, body?: unknown): Promise<{ status: number; id: string }> {
  const [method = '', path = ''] = route.split(' ')
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
  const headers = ['authorization', `Bearer ${token}`, 'content-type', 'application/json']
  const answer = await rawRequest(stack.gateway.url, { method, path, headers, ...sent })
  answered += `${JSON.stringify(answer)}\n`
  const id: unknown = answer.status === 200 ? JSON.parse(answer.text).id : undefined
  return { status: answer.status, id: typeof id === 'string' ? id : '' }
}

const connect = (tenant: Tenant, secret: string, change: object = {}) =>
  ask(tenant, 'POST /v1/vendor-accounts', { vendor: 'ss-activewear', account_number: ACCOUNT, secret, ...change })

async function verifyDue(): Promise<void> {
  await stack.database.admin`update app.jobs set run_at = now() where kind = 'verify-vendor' and completed_at is null`
  answered += JSON.stringify(await stack.invoke('verify-vendors', {}, 60_000))
}

async function operate(command: object): Promise<unknown> {
  const outcome = await stack
    .invoke('operate', await signedCommand('operate', command), 60_000)
    .catch((error: unknown) => String(error))
  answered += JSON.stringify(outcome)
  return outcome
}

/** Opens a credential as another service does, which alone may have the secret. Returns the secret, or the error. */
async function openCredential({ id }: Tenant, vendorCode = 'ss-activewear'): Promise<string> {
  const asked = { tenant_id: id, vendor: vendorCode, reason: 'a test', request_id: randomUUID() }
  return stack.invoke('open-credential', asked, 60_000, 'billing').then(
    (credential) => credential.secret,
    (error: unknown) => {
      answered += String(error)
      return String(error)
    },
  )
}

/** Returns every row of every table as text, with bytes also decoded. */
async function dump(): Promise<string> {
  const tables = await stack.database.admin<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`
  let text = ''
  for (const { name } of tables) {
    for (const { row } of await stack.database.admin.unsafe<{ row: string }[]>(
      `select to_jsonb(t)::text as row from ${name} t`,
    )) {
      text += `${row}\n`
      for (const [, hex = ''] of row.matchAll(/\\\\x([0-9a-f]+)/g))
        text += `${Buffer.from(hex, 'hex').toString('latin1')}\n`
    }
  }
  return text
}

const escapedXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Returns the encodings in which a vendor secret could appear, alone or within a vendor request. */
function ways(secret: string): Record<string, string> {
  const inBase64 = (text: string, shift: number) =>
    // These groups do not depend on the neighbouring bytes.
    Buffer.from('x'.repeat(shift) + text)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4)
  return {
    ...encodings(secret),
    'its unique part': secret.slice(-36),
    'its unique part in hex': Buffer.from(secret.slice(-36)).toString('hex'),
    'its unique part backwards': secret.slice(-36).split('').toReversed().join(''),
    'in XML': escapedXml(secret),
    'in base64, shifted by one': inBase64(secret, 1),
    'in base64, shifted by two': inBase64(secret, 2),
    'in HTTP Basic': Buffer.from(`${ACCOUNT}:${secret}`).toString('base64').slice(0, -4),
  }
}

function leaksIn(text: string): string[] {
  const lower = text.toLowerCase()
  const has = (needle: string) =>
    lower.includes(needle.toLowerCase()) || lower.includes(JSON.stringify(needle).slice(1, -1).toLowerCase())
  const ofSecrets = [...secrets].flatMap(([what, secret]) =>
    Object.entries(ways(secret)).flatMap(([how, needle]) => (has(needle) ? [`${what} ${how}`] : [])),
  )
  const ofKeys = [...dataKeys].flatMap((key) => {
    const bytes = Buffer.from(key, 'base64')
    return [key.slice(0, 42), bytes.toString('base64url'), bytes.toString('hex'), bytes.toString('latin1')].some(has)
      ? ['a data key']
      : []
  })
  return [...ofSecrets, ...ofKeys]
}

async function accounts(tenant: Tenant): Promise<void> {
  vendor = 'accept'
  const { status, id } = await connect(tenant, planted('accepted'), { label: 'Main' })
  expect(status).toBe(200)
  const put = (secret: string) => ask(tenant, `PUT /v1/vendor-accounts/${id}/secret`, { secret })
  const verify = async () => (await ask(tenant, `POST /v1/vendor-accounts/${id}/verify`)).status
  expect((await put(planted('replaced'))).status).toBe(200)
  expect((await put(planted('the last one'))).status).toBe(200)
  expect(await verify()).toBe(200)
  expect(await openCredential(tenant)).toBe(secrets.get('the last one'))
  expect(await openCredential(tenant, planted('as a vendor of another service'))).toContain('InvalidRequest')
  vendor = 'refuse'
  expect((await connect(tenant, planted('refused'))).status).toBe(422)
  expect((await put(planted('refused as a replacement'))).status).toBe(422)
  expect(await verify()).toBe(200)
  for (const how of UNREACHED) {
    vendor = how
    expect((await connect(tenant, planted(`unreached, ${how}`))).status).toBe(200)
    expect((await connect(tenant, planted(`unreached by SOAP, ${how}`), { vendor: 'sanmar' })).status).toBe(200)
    expect((await put(planted(`unreached as a replacement, ${how}`))).status).toBe(503)
    expect(await verify()).toBe(503)
    await verifyDue()
  }
  vendor = 'accept'
  await verifyDue()
  const revoked = await connect(tenant, planted('revoked'))
  expect((await ask(tenant, `DELETE /v1/vendor-accounts/${revoked.id}`)).status).toBe(200)
  expect((await ask(tenant, 'GET /v1/vendor-accounts?status=verified,unverified,revoked')).status).toBe(200)
}

async function badRequests(tenant: Tenant): Promise<void> {
  const at = encodeURIComponent
  const body = { vendor: 'ss-activewear', account_number: ACCOUNT, secret: 'x' }
  for (const [route, sent, status] of [
    ['POST /v1/vendor-accounts', { ...body, secret: [planted('in a list')] }, 422],
    ['POST /v1/vendor-accounts', { ...body, secret: planted('too long').repeat(30) }, 422],
    ['POST /v1/vendor-accounts', { ...body, secret: `${planted('with a control character')}\u0007` }, 422],
    ['POST /v1/vendor-accounts', { ...body, vendor: planted('as a vendor') }, 422],
    ['POST /v1/vendor-accounts', { ...body, account_number: `${planted('as an account number')}:` }, 422],
    ['POST /v1/vendor-accounts', `{"secret": "${planted('in broken JSON').replaceAll('"', '')}`, 400],
    ['POST /v1/vendor-accounts', { ...body, secret: planted('in a large body'), more: 'x'.repeat(70_000) }, 413],
    [`GET /v1/vendor-accounts?cursor=${at(planted('as a cursor'))}`, undefined, 422],
    [`GET /v1/vendor-accounts?status=${at(planted('as a status'))}`, undefined, 422],
    [`DELETE /v1/vendor-accounts/${at(planted('in a path'))}`, undefined, 404],
    [`PUT /v1/vendor-accounts/${randomUUID()}/secret`, { secret: planted('of no account') }, 404],
  ] as const) {
    expect((await ask(tenant, route, sent)).status, route).toBe(status)
  }
}

async function whileKmsFails(): Promise<void> {
  const known = await newTenant()
  vendor = 'broken'
  const waiting = await connect(known, planted('waiting for a check'))
  expect(waiting.status).toBe(200)
  for (const how of ['denied', 'failing', 'garbled', 'drop'] as const) {
    kms = how
    vendor = 'accept'
    const fresh = await newTenant()
    expect((await connect(fresh, planted(`while KMS fails, ${how}`))).status).toBe(503)
    await verifyDue()
    expect(await openCredential(known)).toContain('could not be opened')
    expect(await operate({ command: 'rotate-data-key', slug: known.slug })).toEqual({ refused: expect.any(String) })
  }
  kms = 'ok'
  expect(await operate({ command: 'rotate-data-key', slug: known.slug })).toMatchObject({ done: { reencrypted: 1 } })
  await verifyDue()
}

async function whileTheDatabaseFails(tenant: Tenant): Promise<void> {
  const { admin } = stack.database
  const { id } = await connect(tenant, planted('before the database fails'))
  await whileRefused(admin, ['app.vendor_accounts'], async () => {
    expect((await connect(tenant, planted('while the database fails'))).status).toBe(500)
    const put = await ask(tenant, `PUT /v1/vendor-accounts/${id}/secret`, {
      secret: planted('replacing while it fails'),
    })
    expect(put.status).toBe(500)
    expect((await ask(tenant, `POST /v1/vendor-accounts/${id}/verify`)).status).toBe(500)
    expect(String(await operate({ command: 'rotate-data-key', slug: tenant.slug }))).toContain('rror')
  })
  await admin`update app.vendor_accounts set sealed_secret = sealed_secret || '\\x00' where id = ${id}`
  expect((await ask(tenant, `POST /v1/vendor-accounts/${id}/verify`)).status).toBe(500)
  expect(await operate({ command: 'rotate-data-key', slug: tenant.slug })).toMatchObject({ done: { unreadable: [id] } })
  expect(await operate({ command: 'shred', slug: tenant.slug })).toHaveProperty('done')
}

describe('a vendor secret', () => {
  it('leaks no vendor secret into a response, log line, metric, queue, audit entry or column, in any encoding or failure', {
    timeout: 120_000,
  }, async () => {
    const tenant = await newTenant()
    await accounts(tenant)
    await badRequests(tenant)
    await whileKmsFails()
    expect(leaksIn(await dump())).toEqual([])
    await whileTheDatabaseFails(tenant)
    expect(leaksIn(await dump())).toEqual([])
    expect(leaksIn(stack.logged())).toEqual([])
    expect(leaksIn(answered)).toEqual([])
    // The log contains what could have leaked.
    for (const line of [
      'request refused',
      'request failed',
      'a job failed',
      'VendorUnreachable',
      'KeyServiceUnavailable',
    ]) {
      expect(stack.logged()).toContain(line)
    }
    for (const line of ['AccessDeniedException', 'KMSInternalException', 'DecryptionFailed', 'CloudWatchMetrics']) {
      expect(stack.logged()).toContain(line)
    }
    expect(await dump()).toContain('vendor_account.secret_replaced')
    expect(secrets.size).toBeGreaterThan(30)
    expect(dataKeys.size).toBeGreaterThan(3)
  })

  it('finds a vendor secret that is planted in each encoding', async () => {
    const secret = planted('found')
    for (const [how, text] of Object.entries(ways(secret))) {
      expect(leaksIn(JSON.stringify({ line: `…${text}…` })), how).not.toEqual([])
    }
    const [key = ''] = dataKeys
    expect(leaksIn(Buffer.from(key, 'base64').toString('hex'))).toEqual(['a data key'])
    await stack.database.admin`insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key, status)
      select id, 'vendor-credential', 'arn', ${Buffer.from(secret)}, 'decrypt_only' from app.tenants limit 1`
    expect(leaksIn(await dump())).toContain('found as it is')
  })
})
