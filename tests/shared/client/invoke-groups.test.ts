import { createHash, createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { routeGroups } from '#infra/route-groups.ts'
import { type Invokable, startLambda } from '#infra/local/aws/lambda.ts'
import { json, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { createClient, type ReplyOf } from '#shared/client/client.ts'
import type { Browser, invokeGroups } from '#shared/client/invoke-groups.ts'
import { lambda } from '#shared/http/lambda.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { LOGIN_IP_LIMIT: '1' } })
const LOGIN = { body: { email: 'owner@acme.test', password: PASSWORD } }
const browser: Browser = { sourceIp: '203.0.113.1', userAgent: 'Browser/1', requestId: 'request-of-a-page' }
let auth: Invokable['invoke']

beforeAll(async () => {
  const { group } = (await routeGroups()).find((each) => each.group.name === 'auth') ?? expect.fail()
  const { authRuntime: runtime } = service
  const handle = lambda(group, { config: runtime.config, open: async () => runtime })
  auth = (event: any) => handle(event, lambdaContext)
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local')
  vi.stubEnv('FUNCTION_PREFIX', 'tenantry-test-')
})

/** Returns a transport to functions that are served by `auth`, or by the given function. */
async function invoking(invoke = auth, timeoutMs = 5000) {
  const local = await startLambda()
  onTestFinished(() => local.close())
  local.serve('tenantry-test-auth', { worker: { timeoutSeconds: 10 }, invoke })
  return through(local.url, timeoutMs)
}

async function through(url: string, timeoutMs = 5000) {
  vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', url)
  vi.resetModules()
  const { invokeGroups: fresh }: { invokeGroups: typeof invokeGroups } = await import('#shared/client/invoke-groups.ts')
  return (token?: string, from: Partial<Browser> = {}) =>
    createClient({
      send: fresh({ ...browser, ...from }, { timeoutMs }),
      ...(token === undefined ? {} : { token }),
    })
}

const tokenOf = (reply: ReplyOf<'POST /v1/auth/login'>): string => ('token' in reply ? reply.token : '')

const UNAVAILABLE = { name: 'ProblemError', status: 503, kind: 'dependency-unavailable', retryAfterSeconds: 1 }

describe('a client that invokes the route groups', () => {
  it('counts the limits of each browser by its own address, and stores its user agent', async () => {
    const client = await invoking()
    const token = tokenOf(await client().call('POST /v1/auth/login', LOGIN))
    await expect(client().call('POST /v1/auth/login', LOGIN)).resolves.toBeDefined()
    const wrong = { body: { ...LOGIN.body, password: 'wrong' } }
    await expect(client().call('POST /v1/auth/login', wrong)).rejects.toMatchObject({ status: 401 })
    await expect(client().call('POST /v1/auth/login', LOGIN)).rejects.toMatchObject({ kind: 'rate-limited' })
    const other = client(undefined, { sourceIp: '198.51.100.1', userAgent: null })
    await expect(other.call('POST /v1/auth/login', LOGIN)).resolves.toBeDefined()
    const { data } = await client(token).call('GET /v1/auth/sessions', { query: { limit: 100 } })
    expect(data.map(({ user_agent }) => user_agent)).toEqual([null, 'Browser/1', 'Browser/1'])
  })

  it('passes on params, query, body and a response without a body', async () => {
    const client = await invoking()
    const { call } = client(
      tokenOf(await client(undefined, { sourceIp: '192.0.2.1' }).call('POST /v1/auth/login', LOGIN)),
    )
    const [first] = (await call('GET /v1/auth/tenants')).data
    const { tenant } = await call('POST /v1/auth/tenants/{id}/select', { params: { id: first?.tenant.id ?? '' } })
    expect(tenant?.slug).toBe('acme-print')
    expect((await call('GET /v1/auth/sessions', { query: { limit: 1 } })).data).toHaveLength(1)
    expect(await call('DELETE /v1/auth/session')).toBeNull()
    await expect(call('GET /v1/auth/session')).rejects.toMatchObject({ status: 401 })
  })

  it.each<[string, Invokable['invoke']]>([
    ['throws', () => Promise.reject(new Error('broken'))],
    ['never returns', () => new Promise(() => {})],
    ['returns no response', async () => 'nonsense'],
  ])('throws a 503 with a time to retry when the function %s', async (_, invoke) => {
    const client = await invoking(invoke, 300)
    await expect(client().call('GET /v1/auth/session')).rejects.toMatchObject(UNAVAILABLE)
  })

  it('throws a 503 when there is no such function', async () => {
    const client = await invoking()
    await expect(client().call('GET /v1/members')).rejects.toMatchObject(UNAVAILABLE)
  })

  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, computed from what arrives.
  it('signs what it sends with the credentials of its environment', async () => {
    vi.stubEnv('AWS_SESSION_TOKEN', 'a-session-token')
    const requests: LocalRequest[] = []
    const server = await startHttpServer({
      answer: (request) => {
        requests.push(request)
        return json(200, { statusCode: 204, body: '' })
      },
    })
    onTestFinished(() => server.close())
    await (await through(server.url))().call('DELETE /v1/auth/session')
    const [{ method, url, headers, body } = expect.fail()] = requests
    expect(url.pathname).toBe('/2015-03-31/functions/tenantry-test-auth%3Alive/invocations')
    expect(headers).toMatchObject({
      'x-amz-invocation-type': 'RequestResponse',
      'x-amz-security-token': 'a-session-token',
    })
    const [, scope = '', signed = '', signature] =
      /^AWS4-HMAC-SHA256 Credential=local\/(\S+), SignedHeaders=(\S+), Signature=(\w+)$/.exec(
        headers.authorization ?? '',
      ) ?? []
    const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
    const lines = signed.split(';').map((name) => `${name}:${String(headers[name])}\n`)
    const path = url.pathname.replaceAll('%', '%25')
    const canonical = [method, path, '', lines.join(''), signed, sha256(body)].join('\n')
    const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
    const key = scope
      .split('/')
      .reduce<Buffer | string>((by, part) => createHmac('sha256', by).update(part).digest(), 'AWS4local')
    expect(scope).toMatch(/^\d{8}\/us-east-1\/lambda\/aws4_request$/)
    expect(signed.split(';')).toEqual(expect.arrayContaining(['host', 'x-amz-invocation-type', 'x-amz-security-token']))
    expect(signature).toBe(createHmac('sha256', key).update(toSign).digest('hex'))
  })

  it('repeats a read whose connection broke, and never a write', async () => {
    let met = 0
    const broken = await startHttpServer({
      answer: () => {
        met += 1
        return 'drop'
      },
    })
    onTestFinished(() => broken.close())
    const client = await through(broken.url)
    await expect(client().call('GET /v1/auth/session')).rejects.toMatchObject(UNAVAILABLE)
    expect(met).toBe(2)
    await expect(client().call('POST /v1/auth/login', LOGIN)).rejects.toMatchObject(UNAVAILABLE)
    expect(met).toBe(3)
  })
})
