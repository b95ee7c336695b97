import { expect, it, onTestFinished } from 'vitest'
import { probePages } from '#functions/workers/probe-sign-in/probe-pages.ts'
import { probeSignIn } from '#functions/workers/probe-sign-in/probe-sign-in.ts'
import { json, startHttpServer } from '#infra/local/http-server.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const USER = { email: 'owner@acme.test', password: PASSWORD }

it('finds nothing wrong with a service that works, and leaves no session behind', async () => {
  expect(await probeSignIn(service.gateway.url, USER)).toBeNull()
  expect(await service.sql`select from app.sessions where revoked_at is null`).toEqual([])
})

it('names the step that failed, with its status or error', async () => {
  const wrong = { ...USER, password: 'another password of fifteen' }
  expect(await probeSignIn(service.gateway.url, wrong)).toEqual({ step: 'sign in', status: 401 })
  expect(await probeSignIn('http://127.0.0.1:1', USER)).toMatchObject({ step: 'sign in', error: { name: 'TypeError' } })
  // A service that never ends a session.
  const lax = await startHttpServer({
    answer: async ({ method }) =>
      method === 'DELETE' ? { status: 204, headers: {}, body: '' } : json(200, { token: 'a' }),
  })
  onTestFinished(() => lax.close())
  expect(await probeSignIn(lax.url, USER)).toEqual({ step: 'be refused after the sign-out', status: 200 })
})

it.each([
  ['finds nothing wrong with a front end that asks the API', 303, '/sign-in?notice=session-ended', null],
  [
    'names the page that failed with the API',
    503,
    '/',
    { step: 'be led to the sign-in without a session', status: 503 },
  ],
  [
    'names the page that did not ask the API',
    303,
    '/sign-in',
    { step: 'be led to the sign-in without a session', status: 303 },
  ],
])('%s', async (_title, status, location, failure) => {
  const web = await startHttpServer({
    answer: ({ url: { pathname } }) => {
      const isSignIn = pathname === '/sign-in'
      return { status: isSignIn ? 200 : status, headers: { location }, body: '<form method="post" action="/sign-in">' }
    },
  })
  onTestFinished(() => web.close())
  expect(await probePages(web.url)).toEqual(failure)
  expect(await probePages('http://127.0.0.1:1')).toMatchObject({
    step: 'open the sign-in',
    error: { name: 'TypeError' },
  })
})
