import { type ConversionConfig, type JsonSchema, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { Config } from '#shared/base/config.ts'
import { isOpenToKeys, isTenantAccess, requiresSession } from '#shared/http/access.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import { takesKey } from '#shared/http/once.ts'
import { FORM_TYPE } from '#shared/http/media-type.ts'
import {
  compare,
  failureResponses,
  FIELD_ERROR,
  HEADERS,
  type Part,
  type Refusal,
  successHeaders,
} from '#shared/http/openapi-responses.ts'

/** An endpoint with its name and the properties of its group. */
export interface Operation {
  readonly operationId: string
  readonly group: string
  readonly bodyLimitBytes: number
  readonly endpoint: Endpoint
}

type Schema = v.GenericSchema<unknown, unknown>

const conversion = {
  target: 'draft-2020-12',
  typeMode: 'input',
  errorMode: 'ignore',
  overrideRef: ({ referenceId }: { referenceId: string }) => `#/components/schemas/${referenceId}`,
} as const

const DESCRIPTION = `Requests and responses are JSON. Every failure is a problem document (RFC 9457) with the media type
\`application/problem+json\`.

An unknown path returns 404. A known path with another method returns 405 and \`Allow\`. HEAD on an operation of GET returns the
status and the headers of GET without the body. Authentication and authorization are
checked before the request is parsed: an operation with \`x-permission\` returns 403 to every role without that permission. An operation with \`x-step-up\` returns 403 \`step-up-required\` to a session whose user
has not proven their presence lately: by signing in, or by POST /v1/auth/step-up.

A request may carry \`x-request-id\` (\`[A-Za-z0-9_-]{8,128}\`), which the response repeats. Otherwise the response has a new
UUID. A query parameter that the operation does not list is a 422 with the code \`unknown-field\`. \`If-Match\` on an
operation whose response has no ETag, and \`If-None-Match\` on a write, are a 412. Timestamps are RFC 3339 in UTC. New fields may be added to responses: ignore unknown fields.

A read by a session may carry \`prefer: session\`. Its response has \`x-session\` too, which saves a front end a request.
A request may carry \`if-tenant\` with the id of a tenant. An operation of a tenant returns 403 \`tenant-not-selected\` if the session
has selected another one, in another tab for example.

The numbers in \`x-rate-limits\` are the defaults. A request over any of them returns 429.`

/**
 * Returns the OpenAPI 3.1 document of these operations. The same input gives the same JSON bytes. `gateway` are the
 * failures that API Gateway makes on any route. `config` provides the numbers of the limits. A schema with a title becomes
 * a component of that name. Throws when a schema has no example, or when two schemas have the same title.
 */
export function openApiDocument(
  operations: readonly Operation[],
  { gateway, config }: { gateway: readonly Refusal[]; config: Config },
): object {
  const definitions = namedSchemas(operations)
  const schemas = toJsonSchemaDefs(definitions, conversion)
  const jsonSchema = (schema: Schema) => convert(schema, { ...conversion, definitions })
  const media = (schema: JsonSchema, place: string) => ({ schema, example: exampleOf(schema, schemas, place) })
  const responses = new Map<string, Part>()
  const paths: Record<string, Record<string, Part>> = {}

  for (const operation of operations.toSorted((a, b) => compare(a.endpoint.path, b.endpoint.path))) {
    const { operationId, group, endpoint, bodyLimitBytes } = operation
    const { method, path, access, accepts, summary, description, query, body, reply, files } = endpoint
    const request = body === null ? null : media(jsonSchema(body), `${endpoint.route} body`)
    const rateLimits = describeLimits(endpoint, config, request?.example ?? null)
    const failures = failureResponses(endpoint, { gateway, config, jsonSchema }).map(({ status, name, response }) => {
      responses.set(name, response)
      return [status, { $ref: `#/components/responses/${name}` }] as const
    })
    const success = {
      description: reply === null ? 'Success, without a body.' : summary,
      headers: successHeaders(endpoint),
      ...(reply === null
        ? {}
        : {
            content: {
              'application/json': media(jsonSchema(reply), `${endpoint.route} reply`),
              ...Object.fromEntries(files.map((type) => [type, { schema: { type: 'string' } }])),
            },
          }),
    }
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = {
      operationId,
      tags: [group],
      summary,
      ...(description === null ? {} : { description }),
      security: securityOf(endpoint),
      ...(isTenantAccess(access) && access.permission !== null ? { 'x-permission': access.permission } : {}),
      ...(endpoint.stepUp === null ? {} : { 'x-step-up': true }),
      ...(rateLimits === null ? {} : { 'x-rate-limits': rateLimits }),
      parameters: [
        ...pathParameters(endpoint),
        ...(query === null ? [] : queryParameters(jsonSchema(query))),
        ...(endpoint.etag && method !== 'GET' ? [IF_MATCH] : []),
        ...(takesKey(endpoint) ? [IDEMPOTENCY_KEY] : []),
      ],
      ...(request === null
        ? {}
        : {
            requestBody: {
              description: `${accepts.includes(FORM_TYPE) ? 'A form, or ' : ''}JSON in UTF-8 of at most ${bodyLimitBytes} bytes, nested at most 32 levels deep.`,
              required: true,
              content: Object.fromEntries(accepts.map((type) => [type, request])),
            },
          }),
      responses: Object.fromEntries([[reply === null ? 204 : 200, success], ...failures]),
    }
  }

  return {
    openapi: '3.1.1',
    info: { title: 'Tenantry', version: '1', 'x-problem-base-url': config.problemBaseUrl, description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ group }) => group))].toSorted(compare).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        session: { type: 'http', scheme: 'bearer', description: 'The token that POST /v1/auth/login returned.' },
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the tenant: `tnk_` and 49 characters.' },
        service: {
          type: 'http',
          scheme: 'basic',
          description:
            'The name of a service and its key, which an operator created. Encode each as in a form (RFC 6749, 2.3.1).',
        },
      },
      headers: HEADERS,
      schemas: Object.fromEntries(
        Object.entries({ ...schemas, FieldError: FIELD_ERROR }).toSorted(([a], [b]) => compare(a, b)),
      ),
      responses: Object.fromEntries([...responses].toSorted(([a], [b]) => compare(a, b))),
    },
  }
}

const securityOf = ({ access, stepUp }: Endpoint) => [
  ...(requiresSession(access) ? [{ session: [] }] : []),
  ...(isOpenToKeys({ access, stepUp }) ? [{ apiKey: [] }] : []),
  ...(access === 'service' ? [{ service: [] }] : []),
]

function convert(schema: Schema, config: ConversionConfig = conversion): JsonSchema {
  const { $schema: _, $defs: __, ...converted } = toJsonSchema(schema, config)
  return converted
}

const IF_MATCH: Part = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'ETags that a response carried. With another current one, the request changes nothing and gets a 412.',
  schema: { type: 'string', examples: ['"UhJ1Yg0aP3x7cWZkQvM5bA"'] },
}

const IDEMPOTENCY_KEY: Part = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A new UUID for each operation. A retry of the same user with the same key and request within 24 hours changes nothing, and gets the first success again, with `idempotency-replayed: true`. A failure is not kept.',
  schema: { type: 'string', maxLength: 257, examples: ['5f6b0f4e-6f3e-4f0c-9f43-0d5b2f6c1a7e'] },
}

const pathParameters = ({ params }: Endpoint): Part[] =>
  Object.entries(convert(params).properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema,
  }))

const queryParameters = ({ properties = {}, required = [] }: JsonSchema): Part[] =>
  Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = typeof property === 'boolean' ? {} : property
    return { name, in: 'query', required: required.includes(name), description, schema: inQuery(schema) }
  })

/** A number is text in a query: its schema validates text, and the document shows a number. */
function inQuery({ default: unset, examples, ...schema }: JsonSchema): JsonSchema {
  if (schema.type !== 'integer')
    return { ...schema, ...(examples && { examples }), ...(unset !== undefined && { default: unset }) }
  return {
    ...schema,
    pattern: undefined,
    ...(examples && { examples: examples.map(Number) }),
    ...(unset !== undefined && { default: Number(unset) }),
  }
}

const EXAMPLE_CLIENT = { ip: '192.0.2.1', userAgent: null, requestId: null }

/** Returns the endpoint's limits with the configured numbers, or null if it has none. */
function describeLimits({ limits }: Endpoint, config: Config, body: unknown): Part[] | null {
  if (limits === null) return null
  const described = limits({ body, principal: null, client: EXAMPLE_CLIENT, config, pepper: '' })
  return described.map(({ name, limit, windowSeconds }) => ({ name, limit, window_seconds: windowSeconds }))
}

/** Returns every titled schema of the requests and responses, by title. */
function namedSchemas(operations: readonly Operation[]): Record<string, Schema> {
  const found = new Map<string, Schema>()
  const search = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if (isSchema(part)) {
      const title = v.getTitle(part)
      if (title !== undefined && (found.get(title) ?? part) !== part)
        throw new Error(`Two schemas have the title ${title}`)
      if (title !== undefined) found.set(title, part)
    }
    for (const child of Object.values(part)) search(child)
  }
  for (const { endpoint } of operations)
    for (const schema of [endpoint.query, endpoint.body, endpoint.reply]) search(schema)
  return Object.fromEntries([...found].toSorted(([a], [b]) => compare(a, b)))
}

const isSchema = (part: object): part is Schema => 'kind' in part && part.kind === 'schema'

/** Makes a value that fits a schema from the examples of its parts. The tests take their request bodies from it. */
export const exampleOfSchema = (schema: Schema): unknown => exampleOf(toJsonSchema(schema, conversion), {}, 'a schema')

/** Throws an error that says which part has no example: `place` is the route and the part, then the fields. */
function exampleOf(
  schema: JsonSchema | boolean,
  schemas: Readonly<Record<string, JsonSchema>>,
  place: string,
): unknown {
  if (typeof schema === 'boolean') throw new Error(`${place} has no constraints, and so no example`)
  const { $ref, examples, const: constant, enum: values, anyOf, properties, items } = schema
  const named = schemas[$ref?.split('/').at(-1) ?? '']
  if (named !== undefined) return exampleOf(named, schemas, place)
  if (Array.isArray(examples)) return examples[0]
  if (constant !== undefined) return constant
  if (values !== undefined) return values[0]
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0], schemas, place)
  if (properties !== undefined) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, part]) => [name, exampleOf(part, schemas, `${place}/${name}`)]),
    )
  }
  if (items !== undefined && !Array.isArray(items)) return [exampleOf(items, schemas, `${place}/0`)]
  if (schema.type === 'boolean') return true
  throw new Error(`${place} has no example. Add v.examples([…]) to its schema: ${JSON.stringify(schema)}`)
}
