import type { APIGatewayProxyEvent } from 'aws-lambda'
import * as v from 'valibot'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { FieldFault } from '#shared/schema/field-error.ts'
import { invalid, Problem } from '#shared/base/problem.ts'
import { fieldsOf, queryOf } from '#shared/http/form.ts'
import { FORM_TYPE, mediaTypeOf } from '#shared/http/media-type.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { faultOf, isUnknownKey } from '#shared/schema/fault.ts'

const MAX_DEPTH = 32
const MAX_ERRORS = 20

/** Parses the query and the body with the endpoint's schemas. Refuses unknown keys of a query, and drops those of a body. */
export const jsonBody = (limitBytes: number): Middleware => ({
  before: ({ event, context }) => {
    const { headers } = context.request
    const { endpoint } = matched(context.request)
    const sent = fieldsOf(queryOf(event))
    requireKnownKeys(endpoint, sent)
    if (endpoint.query !== null) context.request.query = parse(endpoint.query, sent)
    if (endpoint.body !== null)
      context.request.body = parse(
        endpoint.body,
        read(event, headers.inOrder('content-type').at(-1) ?? '', limitBytes, endpoint),
      )
  },
})

/** A misspelled filter would show everything. Not a strict object of valibot: `in` finds `constructor` in every object. */
function requireKnownKeys({ query }: Endpoint, sent: object): void {
  const known = query?.entries ?? {}
  if (!Object.keys(sent).every((key) => Object.hasOwn(known, key)))
    throw invalid([{ pointer: '#', code: 'unknown-field' }])
}

function read(event: APIGatewayProxyEvent, contentType: string, limitBytes: number, { accepts }: Endpoint): unknown {
  const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')
  if (bytes.length > limitBytes) throw new Problem(413, { detail: `The body is larger than ${limitBytes} bytes.` })
  const type = mediaTypeOf(contentType)
  if (!accepts.some((accepted) => accepted === type))
    throw new Problem(415, { detail: `The content type must be ${accepts[0]}.` })
  const malformed = (detail: string) => new Problem('malformed-json', { detail })
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw malformed('The body is not valid UTF-8.')
  }
  if (type === FORM_TYPE) return fieldsOf(new URLSearchParams(text))
  if (tooDeep(text)) throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message would repeat a part of the body.
    throw malformed('The body is not valid JSON.')
  }
  // To a schema without required fields, an empty array is an object.
  if (Array.isArray(value)) throw invalid([{ pointer: '#', code: 'wrong-type', type: 'an object' }])
  return value
}

function tooDeep(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index)
    if (quoted) {
      if (character === 0x5c) index += 1
      else if (character === 0x22) quoted = false
    } else if (character === 0x22) quoted = true
    else if (character === 0x7b || character === 0x5b) {
      depth += 1
      if (depth > MAX_DEPTH) return true
    } else if (character === 0x7d || character === 0x5d) depth -= 1
  }
  return false
}

function parse(schema: v.GenericSchema<unknown, unknown>, input: unknown): unknown {
  const result = v.safeParse(schema, input, { abortPipeEarly: true })
  if (result.success) return result.output
  throw invalid(result.issues.slice(0, MAX_ERRORS).map(toFieldFault))
}

function toFieldFault(issue: v.BaseIssue<unknown>): FieldFault {
  // The name of an unknown key is not repeated.
  const known = isUnknownKey(issue) ? issue.path?.slice(0, -1) : issue.path
  const path = (known ?? []).map(({ key }) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`)
  return { pointer: `#${path.join('')}`, ...faultOf(issue) }
}
