import { Problem } from '#shared/base/problem.ts'
import { namesEtag } from '#shared/http/etag.ts'
import { type Middleware, matched } from '#shared/http/request.ts'

/**
 * Evaluates the conditions of a request (RFC 9110, 13) that `handle` does not compare under its lock. A condition that nothing can
 * compare is false: a client that sent one does not want the request to run without it.
 */
export const conditions = (): Middleware => ({
  before: ({ context: { request } }) => {
    const { method, etag } = matched(request).endpoint
    const incomparable = method !== 'GET' && request.headers.all('if-none-match').length > 0
    if (incomparable || (request.ifMatch !== null && !etag)) throw failed('The operation does not take this condition.')
  },
  after: ({ context: { request }, response }) => {
    if (request.ifMatch === null || matched(request).endpoint.method !== 'GET') return
    if (!namesEtag(request.ifMatch, String(response?.headers?.['etag'])))
      throw failed('The resource has changed. Read it again.')
  },
})

const failed = (detail: string): Problem => new Problem('precondition-failed', { detail })
