import type { APIGatewayProxyEvent } from 'aws-lambda'
import { type ClientRequest, createClient, ProblemError, type Send } from '#shared/client/client.ts'
import { decodeSession, PREFER_SESSION, SESSION_HEADER } from '#shared/identity/session-header.ts'
import { notFound, Problem, unavailable } from '#shared/base/problem.ts'
import { clientAddress } from '#shared/http/client-address.ts'
import { pageFinder } from '#web/http/find-pages.ts'
import { FormElsewhere } from '#web/http/form-elsewhere.ts'
import type { Me } from '#web/http/me.ts'
import { type Page, PARAMS } from '#web/http/page.ts'
import type { WebMiddleware, WebState } from '#web/http/request.ts'
import { TrailingSlash, withoutSlash } from '#web/http/trailing-slash.ts'
import type { WebRuntime, WebSource } from '#web/http/runtime.ts'

/** Opens the runtime, and finds the page by its address and the method. */
export const matchPage = (pages: readonly Page[], source: WebSource): WebMiddleware => {
  const find = pageFinder(pages)
  return {
    before: async ({ event, context: { request: state } }) => {
      try {
        state.runtime = await source.open()
      } catch (error) {
        throw unavailable(error)
      }
      Object.assign(state, openClient(event, state, state.runtime, source))
      // HEAD is a GET whose body API Gateway does not send.
      const method = event.httpMethod === 'HEAD' ? 'GET' : event.httpMethod
      const found = find(state.path)
      const at = (wanted: string) => found?.pages.find((page) => page.method === wanted)
      const wanted = at(method)
      const page = wanted ?? (method === 'GET' ? at('POST') : undefined)
      if (found === null || page === undefined) {
        const address = method === 'GET' ? withoutSlash(pages, state) : null
        if (address !== null) throw new TrailingSlash(address)
        if (found === null) throw notFound('no such page')
        throw new Problem(405, { headers: { allow: found.pages.map(({ method }) => method).join(', ') } })
      }
      const { params } = found
      for (const [name, value] of Object.entries(params))
        if (!isParam(name) || !PARAMS[name].test(value)) throw notFound('a part of the address is malformed')
      state.matched = { page, params }
      if (wanted === undefined) throw new FormElsewhere('the address only takes a form')
    },
  }
}

/**
 * Returns the request with the token that the session has by now. Once the session is known, the API refuses what would reach another shop:
 * another tab may select one in between.
 */
function inSession(request: ClientRequest, { session, token }: WebState): ClientRequest {
  const tenant = session?.tenant ?? null
  const headers = {
    ...request.headers,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(tenant === null ? {} : { 'if-tenant': tenant.id }),
  }
  return { ...request, headers }
}

const isParam = (name: string): name is keyof typeof PARAMS => Object.hasOwn(PARAMS, name)

/** The API counts its limits by the address of the browser, and shows the browser in the list of sessions. */
function openClient(event: APIGatewayProxyEvent, state: WebState, { sendFor }: WebRuntime, { config }: WebSource) {
  const toApi = sendFor({
    sourceIp: clientAddress(event, state.headers, config.trustedProxies),
    userAgent: state.headers.get('user-agent') ?? null,
    requestId: state.requestId,
  })
  // Without a response, the API counts as failed: the cookies are kept.
  const send: Send = (request) =>
    toApi(inSession(request, state)).catch((error: unknown) => {
      throw error instanceof ProblemError ? error : unavailable(error)
    })
  const loader = createClient({
    send: async (request) => {
      const response = await send({ ...request, headers: { ...request.headers, ...PREFER_SESSION } })
      const session = response.headers.get(SESSION_HEADER)
      if (session !== null) state.session = decodeSession(session) as Me
      return response
    },
  })
  return { ...createClient({ send }), loader }
}
