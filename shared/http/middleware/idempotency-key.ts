import { invalid } from '#shared/base/problem.ts'
import { takesKey } from '#shared/http/once.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { keyedHash } from '#shared/secret/secret.ts'

/** Reads the `Idempotency-Key` of a request whose route takes one: bare, or quoted as a string of RFC 8941, section 3.3.3. */
export const idempotencyKey = (): Middleware => ({
  before: ({ event, context }) => {
    const { request } = context
    const { endpoint, runtime } = matched(request)
    const [key, ...more] = request.headers.all('idempotency-key')
    if (key === undefined || !takesKey(endpoint)) return
    if (more.length > 0 || !KEY.test(key))
      throw invalid([{ pointer: '#/idempotency-key', code: 'wrong-format', format: FORMAT }])
    const hashOf = (text: string): Buffer => keyedHash(runtime.pepper, 'idempotency', text)
    request.keyedRequest = {
      keyHash: hashOf(key.replaceAll('"', '')),
      requestHash: hashOf(JSON.stringify([endpoint.route, event.pathParameters, request.body])),
    }
  },
})

const KEY = /^(?:[A-Za-z0-9._~:+/=-]{1,255}|"[A-Za-z0-9._~:+/=-]{1,255}")$/
const FORMAT = '1 to 255 letters, digits or characters of -._~:+/='
