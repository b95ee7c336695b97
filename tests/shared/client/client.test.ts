import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Client, createClient, ProblemError } from '#shared/client/client.ts'
import { seeingFetch } from '#tests/support/documented.ts'
import { codeNow, newFactorUser } from '#tests/support/factor.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { PASSWORD, startService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import {
  invite,
  listCustomers,
  listEmails,
  rename,
  selectFirstTenant,
  signIn,
  withRetry,
  withStepUp,
} from './example.ts'

const service = useService()

const client = (token?: string) =>
  createClient({ baseUrl: service.gateway.url, fetch: seeingFetch, ...(token === undefined ? {} : { token }) })

const refusal = async (call: Promise<unknown>): Promise<ProblemError> => {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ProblemError)) throw new Error(`not refused with a problem: ${String(error)}`)
  return error
}

describe('createClient', () => {
  it('rejects with the kind of problem, its field errors and the time to retry', async () => {
    const wrong = client().call('POST /v1/auth/login', { body: { email: 'owner@acme.test', password: 'wrong' } })
    expect(await refusal(wrong)).toMatchObject({ status: 401, kind: 'about:blank', retryAfterSeconds: null })
    const invalid = await refusal(client().call('POST /v1/auth/login', { body: { email: 'no', password: PASSWORD } }))
    expect(invalid).toMatchObject({ status: 422, kind: 'validation-failed' })
    expect(invalid.errors).toEqual([
      { pointer: '#/email', code: 'not-an-email-address', detail: 'must be an email address' },
    ])
    const limited = await startService({ env: { LOGIN_EMAIL_LIMIT: '1' } })
    onTestFinished(() => limited.close())
    const attempt = () =>
      createClient({ baseUrl: `${limited.gateway.url}/`, fetch: seeingFetch }).call('POST /v1/auth/login', {
        body: { email: 'owner@acme.test', password: 'wrong' },
      })
    expect((await refusal(attempt())).status).toBe(401)
    const { kind, retryAfterSeconds } = await refusal(attempt())
    expect(kind).toBe('rate-limited')
    expect(retryAfterSeconds).toBeGreaterThan(0)
  })

  it('rejects with a ProblemError for a failure that is no problem, and with fetch’s error without a response', async () => {
    const answering = (response: () => Response) =>
      createClient({ baseUrl: 'https://a.test', fetch: async () => response() }).call('GET /health/live')
    const html = () => new Response('<h1>Bad</h1>', { status: 502, statusText: 'Bad', headers: { 'retry-after': '7' } })
    expect(await refusal(answering(html))).toMatchObject({ status: 502, kind: 'about:blank', retryAfterSeconds: 7 })
    const headers = { 'content-type': 'application/problem+json' }
    const cut = () => new Response('{"type":', { status: 503, headers })
    expect(await refusal(answering(cut))).toMatchObject({ status: 503, kind: 'about:blank', errors: [] })
    const gone = createClient({ baseUrl: 'http://127.0.0.1:1' }).call('GET /health/live')
    await expect(gone).rejects.toThrow(TypeError)
  })

  it('encodes params and query in the URL', async () => {
    const sent: string[] = []
    const { call } = createClient({
      baseUrl: 'https://a.test/base//',
      fetch: async (url) => {
        sent.push(url)
        return new Response(null, { status: 204 })
      },
    })
    await call('DELETE /v1/auth/sessions/{id}', { params: { id: 'a/b?c' } })
    await call('GET /v1/catalog/styles', { query: { q: 'a&b=ü', limit: 5 } })
    await call('GET /v1/catalog/styles', { query: {} })
    await call('GET /v1/catalog/styles')
    expect(sent).toEqual([
      'https://a.test/base/v1/auth/sessions/a%2Fb%3Fc',
      'https://a.test/base/v1/catalog/styles?q=a%26b%3D%C3%BC&limit=5',
      'https://a.test/base/v1/catalog/styles',
      'https://a.test/base/v1/catalog/styles',
    ])
  })

  it('compiles only for the params, bodies and replies of the routes', async () => {
    const { call, callWithEtag } = createClient({ baseUrl: 'https://a.test', fetch: async () => Response.json({}) })
    // @ts-expect-error no such route
    await call('GET /v1/secrets')
    // @ts-expect-error the body is missing
    await call('POST /v1/auth/login')
    // @ts-expect-error a field is missing
    await call('POST /v1/auth/login', { body: { email: 'a@b.test' } })
    // @ts-expect-error the param is missing
    await call('DELETE /v1/members/{id}')
    // @ts-expect-error no such param of the query
    await call('GET /v1/members', { query: { name: 'a' } })
    const { created_at } = await call('POST /v1/members/invite', { body: { email: 'a@b.test', role: 'sales' } })
    // @ts-expect-error this write compares no ETag
    await call('POST /v1/members/invite', { body: { email: 'a@b.test', role: 'sales' }, ifMatch: '"a"' })
    // @ts-expect-error its responses carry no ETag
    await callWithEtag('GET /v1/auth/session')
    // @ts-expect-error times are text
    const time: Date | undefined = created_at
    // @ts-expect-error no such field
    const reply = (await call('GET /v1/auth/session')).password_hash
    // @ts-expect-error an answer without a body is null
    const ended: object = await call('DELETE /v1/auth/session')
    const withKey = createClient({ baseUrl: 'https://a.test', apiKey: 'tnk_', fetch: async () => Response.json({}) })
    await withKey.call('POST /v1/deals', { body: { customer_name: 'One' } })
    // @ts-expect-error no API key may call it
    await withKey.call('GET /v1/members')
    // @ts-expect-error no API key approves
    await withKey.callWithEtag('POST /v1/designs/{id}/approve', { params: { id: 'a' } })
    expect([time, reply, ended]).toEqual([undefined, undefined, {}])
  })

  it('runs in a browser without imports', async () => {
    const source = await readFile(new URL('../../../shared/client/client.ts', import.meta.url), 'utf8')
    const script = stripTypeScriptTypes(source)
    expect(script).not.toMatch(/\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b|\bglobal\b/)
    const page = createContext({ fetch: seeingFetch, URLSearchParams })
    const inPage = runInContext(`${script.replaceAll(/^export /gm, '')}; createClient`, page) as typeof createClient
    const { call } = inPage({ baseUrl: service.gateway.url })
    const reply = await call('POST /v1/auth/login', { body: { email: 'owner@acme.test', password: PASSWORD } })
    expect(reply).toMatchObject({ token: expect.stringMatching(/^[\w-]{43}$/) })
    const types = stripTypeScriptTypes(
      await readFile(new URL('../../../shared/client/api.ts', import.meta.url), 'utf8'),
    )
    expect(types.replaceAll(/\/\*.*?\*\/|\/\/.*$/gms, '').trim()).toBe('')
  })

  it('steps up as its README shows, and asks for no code while a step-up is fresh', async () => {
    const user = await newFactorUser(service)
    await service.sql`update app.sessions set stepped_up_at = now() - interval '601 seconds' where user_id = ${user.id}`
    let asked = 0
    const askForCode = async () => {
      asked += 1
      return codeNow(user.secret)
    }
    const end = (token: string) =>
      withStepUp({ baseUrl: service.gateway.url, token, askForCode }, ({ call }) => call('DELETE /v1/auth/sessions'))
    const stepped = await end(user.token)
    expect(stepped.token).not.toBe(user.token)
    expect(await end(stepped.token)).toMatchObject({ token: stepped.token })
    expect(asked).toBe(1)
    await expect(client(user.token).call('GET /v1/auth/session')).rejects.toMatchObject({ status: 401 })
  })

  it('works as its README shows', async () => {
    const owner = await signIn(service.gateway.url, 'owner@acme.test', PASSWORD)
    expect(await selectFirstTenant(owner)).toBe('Acme Print')
    expect(await withRetry(() => listEmails(owner))).toContain('owner@acme.test')
    expect(await invite(owner, 'readme@acme.test', 'viewer')).toMatch(/^invited until 20/)
    expect(await invite(owner, 'owner@acme.test', 'viewer')).toBe('is a member already')
    expect(await invite(owner, 'no address', 'viewer')).toBe('#/email not-an-email-address')
    const { etag } = await owner.callWithEtag('GET /v1/tenant')
    expect(await rename(owner, 'Acme Prints')).toBe('was Acme Print')
    const stale: Client['callWithEtag'] = async (route, ...sent) => ({
      ...(await owner.callWithEtag(route, ...sent)),
      etag,
    })
    expect(await rename({ ...owner, callWithEtag: stale }, 'Lost')).toBe('was changed by somebody else')
    expect(await rename(owner, 'Acme Print')).toBe('was Acme Prints')
    expect(await invite(client('no session'), 'a@b.test', 'viewer')).toBe('sign in again')
    await expect(withRetry(() => client('no session').call('GET /v1/members'))).rejects.toThrow(ProblemError)
    const { id: tenant, slug } = await service.newTenant('owner')
    const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read', 'deal.write'] })
    await createClient({ baseUrl: service.gateway.url, apiKey: key }).call('POST /v1/deals', {
      body: { customer_name: 'Of a key' },
    })
    const logged = vi.spyOn(console, 'log').mockReturnValue()
    expect(await listCustomers(service.gateway.url, key)).toEqual(['Of a key'])
    expect(logged.mock.lastCall?.[0]).toContain(`a key of ${slug} until 20`)
    logged.mockRestore()
    const example = await readFile(new URL('example.ts', import.meta.url), 'utf8')
    const readme = await readFile(new URL('../../../shared/client/README.md', import.meta.url), 'utf8')
    const blocks = Array.from(readme.matchAll(/```ts\n(.*?)```/gs), ([, code = '']) => code.split('\n\n')).flat()
    for (const block of blocks) expect(example).toContain(block.trim())
  })
})
