import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { createResourceMatcher } from '#infra/local/gateway/proxy-event.ts'
import { PROBLEM_BASE_URL } from './problem-base-url.ts'

/** A response. Header names are in lower case. */
export interface SeenAnswer {
  readonly status: number
  readonly headers: Iterable<readonly [string, string]>
  readonly text: string
}

type Part = Record<string, any>

const file = new URL('../../functions/api/openapi/document.json', import.meta.url)
// With the base URL of problems that the service under test uses.
const text = readFileSync(file, 'utf8').replaceAll('https://tenantry.example/problems', PROBLEM_BASE_URL)
export const document: Part = JSON.parse(text)
const { components, paths }: Part = document

// Headers of the connection, and of every body.
const CARRIED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
])
// The routes of the tests' own groups.
const OF_TESTS = /^\/v1\/(probe|test)\//

const match = createResourceMatcher(Object.keys(paths))
const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(closed({ $id: 'document', components }) as Part)
const validators = new WeakMap<object, ValidateFunction>()

/** Returns the differences between a response and the document, as texts. `target` is the path as it was sent. */
export function faultsOf(method: string, target: string, answer: SeenAnswer): string[] {
  const path = target.split('?', 1)[0] ?? ''
  const resource = match(path)?.resource
  if (resource === undefined) {
    // A response of the gateway itself.
    return OF_TESTS.test(path) || [400, 404, 413].includes(answer.status) ? [] : [`no such path: ${answer.status}`]
  }
  const operation = paths[resource][method === 'HEAD' ? 'get' : method.toLowerCase()]
  if (operation === undefined) return undeclaredMethod(resource, answer)
  const declared = operation.responses[answer.status]
  if (declared === undefined) return [`status ${answer.status} is not declared`]
  const response = resolve(declared)
  const headers = headerFaults(response.headers, answer)
  if (method === 'HEAD') return answer.text === '' ? headers : [...headers, 'a response to HEAD has a body']
  return [...headers, ...bodyFaults(response.content, answer)]
}

function undeclaredMethod(resource: string, { status, headers }: SeenAnswer): string[] {
  const allowed = Object.keys(paths[resource]).flatMap((name) =>
    name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()],
  )
  const sent = new Map(headers).get('allow')?.split(', ') ?? []
  if (status !== 405) return [`method is not declared, and answered ${status}`]
  return sent.toSorted().join() === allowed.toSorted().join()
    ? []
    : [`allow is ${sent.join()}, declared ${allowed.join()}`]
}

function headerFaults(declared: Part, answer: SeenAnswer): string[] {
  const sent = new Map(answer.headers)
  const faults = [...sent.keys()]
    .filter((name) => !CARRIED.has(name) && !(name in declared))
    .map((name) => `header ${name} is not declared`)
  for (const [name, reference] of Object.entries(declared)) {
    const { required = false, schema } = resolve(reference)
    const value = sent.get(name)
    if (value === undefined) faults.push(...(required ? [`header ${name} is missing`] : []))
    else faults.push(...schemaFaults(schema, value).map((fault) => `header ${name}: ${fault}`))
  }
  return faults
}

function bodyFaults(content: Part | undefined, { headers, text }: SeenAnswer): string[] {
  const type = new Map(headers).get('content-type')
  if (content === undefined) return text === '' && type === undefined ? [] : ['a body is not declared']
  const media = content[type ?? '']
  if (media === undefined) return [`content type ${type} is not declared`]
  try {
    return schemaFaults(media.schema, /[/+]json$/.test(type ?? '') ? JSON.parse(text) : text)
  } catch (error) {
    return [String(error)]
  }
}

function schemaFaults(schema: Part, value: unknown): string[] {
  let validate = validators.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(closed(schema) as Part)
    validators.set(schema, validate)
  }
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}

/** Returns the schema with `additionalProperties: false` in every object, and references into `document`. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed)
  if (typeof part !== 'object' || part === null) return part
  const copy: Part = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, name === '$ref' ? `document${value}` : closed(value)]),
  )
  return copy['type'] === 'object' && copy['additionalProperties'] === undefined
    ? { ...copy, additionalProperties: false }
    : copy
}

function resolve(part: Part): Part {
  if (part['$ref'] === undefined) return part
  const [, , kind, name] = part['$ref'].split('/')
  return components[kind][name]
}

const MAX_REPORTED = 10
const undocumented: string[] = []

/** Compares a response with the document. A difference fails the running test when it ends. */
export function seen(method: string, target: string, answer: SeenAnswer): void {
  const faults = faultsOf(method, target, answer)
  if (faults.length === 0 || undocumented.length === MAX_REPORTED) return
  undocumented.push(`${method} ${target} ${answer.status}: ${faults.join('; ')}\n${answer.text}`.slice(0, 1000))
}

/** Returns the differences since the last call. */
export const takeUndocumented = (): string[] => undocumented.splice(0)

/** `fetch` that compares each response with the document. */
export async function seeingFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init)
  const text = await response.clone().text()
  const { pathname, search } = new URL(url)
  seen(init.method ?? 'GET', pathname + search, { status: response.status, headers: response.headers, text })
  return response
}
