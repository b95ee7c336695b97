import { describe, expect, it } from 'vitest'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { noContent } from '#shared/http/reply.ts'
import type { Need } from '#shared/needs.ts'
import { processRuntime } from '#shared/runtime.ts'

const handle = async () => noContent()
const open = endpoint({ route: 'GET /v1/open', access: 'anyone', summary: 'A test', handle })
const guarded = endpoint({ route: 'GET /v1/guarded', access: 'session', summary: 'A test', handle })
const limited = endpoint({ route: 'POST /v1/limited', access: 'anyone', summary: 'A test', limits: () => [], handle })

const group = (needs: readonly Need[], ...endpoints: Parameters<typeof routeGroup>[0]['endpoints'][number][]) =>
  routeGroup({ name: 'test', bodyLimitBytes: 1, needs, endpoints })

describe('a route group', () => {
  it('names what its endpoints imply, or does not come to be', () => {
    expect(() => group([], open)).not.toThrow()
    expect(() => group([], open, guarded)).toThrow('GET /v1/guarded needs database:app, which test does not name')
    expect(() => group(['database:app'], guarded)).toThrow('GET /v1/guarded needs tokens')
    expect(() => group(['database:app', 'tokens'], limited)).toThrow('POST /v1/limited needs cache')
    expect(() => group(['database:app', 'tokens', 'cache'], open, guarded, limited)).not.toThrow()
  })

  it('has one endpoint for a route', () => {
    expect(() => group(['database:app'], open, open)).toThrow('Two endpoints answer GET /v1/open')
  })
})

describe('a function', () => {
  it('does not start without the setting that a need of its calls for, and asks for no other', () => {
    expect(() => processRuntime(['database:app', 'tokens', 'cache'])).toThrow(
      'required here: DATABASE_SECRET_ID, SERVICE_SECRET_ID, CACHE_SECRET_ID',
    )
    expect(() => processRuntime(['database:app'])).toThrow(/required here: DATABASE_SECRET_ID$/)
    expect(() => processRuntime([])).not.toThrow()
  })

  it('has no part that it does not name', async () => {
    const runtime = await processRuntime([]).open()
    expect(() => runtime.pepper).toThrow('does not name tokens')
    expect(() => runtime.mailKey).toThrow('does not name tokens')
    expect(() => runtime.limiter).toThrow('does not name cache')
    expect(() => runtime.database).toThrow('does not name database:app')
  })
})
