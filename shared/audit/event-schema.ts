import { AUDIT_ACTIONS, type AuditAction } from '#shared/audit/actions.ts'
import { EVENT_KEYS, type EventKey } from '#shared/audit/event-keys.ts'

type JsonSchema = Readonly<Record<string, unknown>>

const ID = { type: 'string', format: 'uuid' }
const ID_OR_NULL = { type: ['string', 'null'], format: 'uuid' }
// As app.add_event lets it leave.
const CODE = { type: 'string', pattern: '^[A-Za-z0-9_.:*/+-]{1,64}$' }

const VALUES = {
  id: ID_OR_NULL,
  code: { ...CODE, type: ['string', 'null'] },
  codes: { type: 'array', items: CODE },
  number: { type: ['integer', 'null'] },
  numbers: { type: 'array', items: { type: 'integer' } },
} as const

const object = (properties: object): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** Returns the JSON Schema of the event of each published action, by action. */
export const eventSchemas = (): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.keys(AUDIT_ACTIONS).flatMap((name) => {
      const action = name as AuditAction
      const { target, event } = AUDIT_ACTIONS[action]
      return event === null ? [] : [[action, schemaOf(action, target, event)]]
    }),
  )

function schemaOf(action: string, target: string, keys: readonly EventKey[]): JsonSchema {
  const properties = Object.fromEntries(keys.map((key) => [key, VALUES[EVENT_KEYS[key]]]))
  const change =
    keys.length === 0 ? { type: 'null' } : { type: ['object', 'null'], properties, additionalProperties: false }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: action,
    ...object({
      id: ID,
      schema: { const: 1 },
      occurred_at: { type: 'string', format: 'date-time' },
      tenant_id: ID,
      actor: object({ type: { enum: ['user', 'key', 'platform'] }, id: ID_OR_NULL }),
      // A reader of the events may know the user and not the membership.
      subject: object({ type: { const: target }, id: ID_OR_NULL, ...(target === 'membership' && { user_id: ID }) }),
      before: change,
      after: change,
    }),
  }
}
