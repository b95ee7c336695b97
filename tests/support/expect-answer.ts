import { expect } from 'vitest'
import { FIELD_ERRORS } from '#shared/schema/field-error.ts'
import { type ProblemKind, PROBLEMS } from '#shared/base/problem.ts'
import { PROBLEM_BASE_URL } from './problem-base-url.ts'
import type { Answer } from './service.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** The name of `www-authenticate` behind API Gateway. */
export const CHALLENGE_HEADER = 'x-amzn-remapped-www-authenticate'

const PLAIN = [401, 403, 404, 405, 413, 415, 500]

/** Checks what the contract says about every response. `tenantId` is what `x-tenant-id` must be, or null for no header. */
export function expectContract(answer: Answer, tenantId: string | null): void {
  const { status, headers, text, body } = answer
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_-]{8,128}$/)
  expect(headers.get('strict-transport-security')).toMatch(/max-age=(3[2-9]|[4-9]\d)\d{6}.*includeSubDomains/)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('cache-control')).toMatch(status < 400 ? /./ : /^no-store$/)
  expect(headers.get('set-cookie')).toBeNull()
  expect(headers.get('www-authenticate')).toBeNull()
  expect(headers.get('x-tenant-id')).toBe(tenantId)
  for (const name of ['server', 'x-powered-by', 'access-control-allow-origin']) expect(headers.get(name)).toBeNull()
  if (status === 204) {
    expect(text).toBe('')
    expect(headers.get('content-type')).toBeNull()
  } else if (status < 400) {
    expect(headers.get('content-type')).toBe('application/json')
    expect(body).toBeTypeOf('object')
  } else expectProblem(answer)
}

/** Checks a failure against RFC 9457 and the contract, and that it is of a kind when one is given. */
export function expectProblem({ status, headers, body }: Answer, kind?: ProblemKind, what?: string): void {
  if (kind !== undefined)
    expect([status, body.type], what).toEqual([PROBLEMS[kind].status, `${PROBLEM_BASE_URL}/${kind}`])
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(body.status).toBe(status)
  expect(body.title).toBeTypeOf('string')
  const requestId = headers.get('x-request-id') ?? ''
  if (UUID.test(requestId)) expect(body.instance).toBe(`urn:uuid:${requestId}`)
  else expect(body).not.toHaveProperty('instance')
  const slug = body.type.startsWith(`${PROBLEM_BASE_URL}/`) ? body.type.slice(PROBLEM_BASE_URL.length + 1) : undefined
  if (body.type !== 'about:blank') expect(Object.keys(PROBLEMS)).toContain(slug)
  else expect(PLAIN).toContain(status)
  const members = Object.keys(body).filter((name) => !['type', 'title', 'status', 'instance'].includes(name))
  if (status === 401 || status === 403) expect(members).toEqual([])
  if (status === 401) expect(body.type).toBe('about:blank')
  if (status === 422) {
    expect(body.errors.length).toBeGreaterThan(0)
    for (const error of body.errors) {
      expect(FIELD_ERRORS).toHaveProperty(error.code)
      const { code, detail, max, min, pointer } = error
      expect(error).toEqual({ code, detail, max, min, pointer })
      expect(pointer).toMatch(/^#(\/|$)/)
      expect(detail).toMatch(/./)
    }
  }
  if (status === 429 || status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
}

/** Returns the parts of a response that must be equal for different causes: everything but the request id and the date. */
export const indistinguishable = ({ status, headers, text }: Answer): object => ({
  status,
  text: text.replace(/urn:uuid:[0-9a-f-]{36}/, 'urn:uuid:'),
  headers: [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date'),
})
