import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { proxyEvent } from '#infra/local/gateway/proxy-event.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { noContent } from '#shared/http/reply.ts'
import { defineWorker as job } from '#shared/lambda/worker.ts'
import { openRuntime, type RuntimeSource } from '#shared/lambda/runtime.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'

const summary = 'A test'
const handle = async () => noContent()
const open = endpoint({ route: 'GET /v1/open', access: 'anyone', summary, handle })
const guarded = endpoint({ route: 'GET /v1/guarded', access: 'session', summary, needs: ['vault'], handle })
const limited = endpoint({ route: 'POST /v1/limited', access: 'anyone', summary, limits: () => [], handle })

const ofSession = endpoint({
  route: 'POST /v1/of-session',
  access: 'session',
  summary,
  limits: () => [],
  handle,
})

const needsOf = (...endpoints: Parameters<typeof routeGroup>[0]['endpoints'][number][]) =>
  routeGroup({ name: 'test', bodyLimitBytes: 1, endpoints }).needs

describe('routeGroup', () => {
  it('collects the needs that endpoints declare and imply, sorted', () => {
    expect(needsOf(open)).toEqual([])
    expect(needsOf(open, guarded)).toEqual(['database:app', 'pepper', 'vault'])
    expect(needsOf(ofSession)).toEqual(['database:app', 'invoke:publish-events', 'pepper'])
    expect(needsOf(open, limited)).toEqual(['cache', 'database:app', 'invoke:publish-events', 'pepper'])
    expect(needsOf(limited, guarded)).toEqual(['cache', 'database:app', 'invoke:publish-events', 'pepper', 'vault'])
    const { needs } = routeGroup({ name: 'test', role: 'auth', bodyLimitBytes: 1, endpoints: [guarded] })
    expect(needs).toEqual(['database:auth', 'pepper', 'vault'])
  })

  it('rejects two endpoints with the same route', () => {
    expect(() => needsOf(open, open)).toThrow('Two endpoints have the route GET /v1/open')
  })
})

describe('an invocation whose time is over', () => {
  it('responds that the service is unavailable, because a dependency is slow', async () => {
    const slow = endpoint({
      route: 'GET /v1/slow',
      access: 'anyone',
      summary,
      handle: () => new Promise<never>(() => {}),
    })
    const group = routeGroup({ name: 'test', bodyLimitBytes: 1, endpoints: [slow] })
    const request = {
      method: 'GET',
      url: '/v1/slow',
      headers: {},
      rawHeaders: [],
      socket: { remoteAddress: '127.0.0.1' },
    }
    const event = proxyEvent(request as unknown as IncomingMessage, {
      resource: '/v1/slow',
      params: {},
      requestId: randomUUID(),
      body: Buffer.alloc(0),
    })
    const context = { ...lambdaContext, getRemainingTimeInMillis: () => 30 }
    expect(await lambda(group, openRuntime(group))(event, context)).toMatchObject({
      statusCode: 503,
      body: expect.stringContaining('dependency-unavailable'),
    })
  })
})

describe('the runtime of a function', () => {
  it('throws at start when a setting is missing for a need, and names only that setting', () => {
    expect(() => openRuntime({ needs: ['database:app', 'pepper', 'mail-key', 'cache'] })).toThrow(
      'required here: DATABASE_SECRET_ID, PEPPER_SECRET_ID, MAIL_KEY_SECRET_ID, CACHE_SECRET_ID',
    )
    expect(() => openRuntime({ needs: ['database:app'] })).toThrow(/required here: DATABASE_SECRET_ID$/)
    expect(() => openRuntime({ needs: [] })).not.toThrow()
  })

  it('gives a function no part that its needs do not name', async () => {
    expect(await openRuntime({ needs: [] }).open()).toEqual({ config: expect.anything() })
  })

  // Checked by tsc: each line below that compiles fails the check.
  it('does not compile when a function uses a part that its needs do not name', () => {
    const route = 'GET /v1/open'
    endpoint({
      route,
      access: 'anyone',
      summary,
      async handle(context) {
        // @ts-expect-error: needs database:app
        await context.sql`select`
        // @ts-expect-error: needs database:app
        await context.runtime.database.close()
        // @ts-expect-error: needs pepper
        expect(context.runtime.pepper).toBeDefined()
        // @ts-expect-error: needs cache
        await context.runtime.limiter.ping()
        // @ts-expect-error: needs vault
        await context.runtime.vault.close()
        return noContent()
      },
    })
    endpoint({
      route,
      access: 'session',
      summary,
      async handle({ call, runtime }) {
        expect(call).toBeDefined()
        expect(runtime.pepper).toBeDefined()
        // @ts-expect-error: needs mail-key
        expect(runtime.mailKey).toBeUndefined()
        // @ts-expect-error: needs cache
        await runtime.limiter.ping()
        return noContent()
      },
    })
    endpoint({
      route,
      access: 'anyone',
      summary,
      limits: () => [{ name: 'a', subject: Buffer.of(), limit: 1, windowSeconds: 1 }],
      async handle({ sql, runtime }) {
        await sql`select`
        await runtime.limiter.ping()
        // @ts-expect-error: needs vault
        await runtime.vault.close()
        return noContent()
      },
    })
    endpoint({
      route,
      access: 'anyone',
      summary,
      needs: ['vault'],
      async handle({ runtime }) {
        await runtime.vault.close()
        return noContent()
      },
    })
    const { needs } = job({ name: 'a-job', needs: ['database:worker'], timeoutSeconds: 1 })
    const inJob = async ({ open: openJob }: RuntimeSource<(typeof needs)[number]>) => {
      const runtime = await openJob()
      await runtime.database.close()
      // @ts-expect-error: needs mail-key
      expect(runtime.mailKey).toBeDefined()
    }
    expect(inJob).toBeDefined()
  })
})
