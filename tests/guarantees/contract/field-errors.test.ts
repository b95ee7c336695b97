import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { detailOf, FIELD_ERRORS, fieldError } from '#shared/schema/field-error.ts'
import { fault, faultOf, needsNoMessage, sentenceOf } from '#shared/schema/fault.ts'
import { routes } from '#tests/support/routes.ts'

/** What checks nothing itself. A raw check or transform names its fault when it runs: `fields.test.ts` sends it wrong values. */
const CHECKS_NOTHING = /^(nullish|optional|nullable|raw_check|raw_transform)$/

/** What has nothing more to say than that the value is not valid. */
const ALWAYS_INVALID = /^(object|strict_object|uuid)$/

/** Returns every schema and check below a schema that can refuse a value and names no code for it. */
function withoutCode(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  if (Array.isArray(part)) return part.flatMap(withoutCode)
  const { kind, type = '', message } = part as { kind?: unknown; type?: string; message?: string }
  const own =
    (kind === 'schema' || kind === 'validation') && !CHECKS_NOTHING.test(type) && !names(message, type)
      ? [`${type} ${message}`]
      : []
  return [...own, ...Object.values(part).flatMap(withoutCode)]
}

const names = (message: string | undefined, type: string): boolean =>
  message !== undefined
    ? message.startsWith('{') && JSON.parse(message).code in FIELD_ERRORS
    : needsNoMessage(type) || ALWAYS_INVALID.test(type)

describe('every check of a request', () => {
  const parts = routes.flatMap(({ name, endpoint }) =>
    (['query', 'body'] as const).flatMap((part) =>
      endpoint[part] === null ? [] : [[`${name} ${part}`, endpoint[part]]],
    ),
  )

  it.each(parts)('names the code of its field error: %s', (_, schema) => {
    expect(withoutCode(schema)).toEqual([])
  })

  it('is found without a code at any depth', () => {
    const schema = v.object({
      list: v.array(
        v.object({
          text: v.optional(
            v.pipe(
              v.string(),
              v.check((text) => text !== '', 'must be there'),
            ),
          ),
        }),
      ),
      choice: v.picklist(['a']),
      size: v.pipe(v.number('must be a number'), v.multipleOf(2)),
    })
    expect([...new Set(withoutCode(schema))]).toEqual([
      'check must be there',
      'picklist undefined',
      'number must be a number',
      'multiple_of undefined',
    ])
  })
})

describe('a fault', () => {
  const issueOf = (schema: v.GenericSchema, value: unknown) => {
    const [issue] = v.safeParse(schema, value).issues ?? []
    if (issue === undefined) throw new Error('the value was accepted')
    return issue
  }

  it('of a check keeps its code and its numbers, and repeats no value', () => {
    const schema = v.pipe(
      v.string(),
      v.check((text) => text.length < 3, fault({ code: 'too-long', max: 2 })),
    )
    expect(faultOf(issueOf(schema, 'canary'))).toEqual({ code: 'too-long', max: 2 })
    expect(fieldError({ pointer: '#/a', ...faultOf(issueOf(schema, 'canary')) })).toEqual({
      pointer: '#/a',
      code: 'too-long',
      max: 2,
      detail: 'must have at most 2 characters',
    })
  })

  it.each([
    ['a string', v.string(), 7, 'must be a string'],
    ['a number', v.number(), 'canary', 'must be a number'],
    ['an integer', v.pipe(v.number(), v.integer()), 1.5, 'must be an integer'],
    ['a list', v.array(v.string()), 'canary', 'must be an array'],
    ['a lower bound', v.pipe(v.number(), v.minValue(3)), 2, 'must be at least 3'],
    ['an upper bound', v.pipe(v.number(), v.maxValue(3)), 4, 'must be at most 3'],
    ['a length', v.pipe(v.string(), v.maxLength(3)), 'canary', 'must have at most 3 characters'],
    ['a number of items', v.pipe(v.array(v.number()), v.maxLength(1)), [1, 2], 'must have at most 1 items'],
    ['an empty text', v.pipe(v.string(), v.nonEmpty()), '', 'must not be empty'],
    ['a missing field', v.object({ a: v.string() }), {}, 'is required'],
    ['an unknown field', v.strictObject({}), { canary: 1 }, 'has an unknown field'],
    ['an object', v.object({}), 'canary', 'is not valid'],
    [
      'a check that has words of its own',
      v.pipe(
        v.string(),
        v.check(() => false, 'canary'),
      ),
      'a',
      'is not valid',
    ],
  ] as const)('of valibot becomes a code: %s', (_, schema, value, detail) => {
    expect(detailOf(faultOf(issueOf(schema, value)))).toBe(detail)
  })

  it('is a sentence for an operator, who also gets the messages of other schemas', () => {
    const own = v.pipe(
      v.string(),
      v.check(() => false, 'must be a KMS key'),
    )
    expect(sentenceOf(issueOf(own, 'a'))).toBe('must be a KMS key')
    expect(sentenceOf(issueOf(v.string(), 7))).toBe('must be a string')
  })

  it('does not compile without the words of its sentence, or with an unknown code', () => {
    // @ts-expect-error the sentence has a number
    expect(fault({ code: 'too-long' })).toBeTypeOf('string')
    // @ts-expect-error no such code
    expect(fault({ code: 'too-tall' })).toBeTypeOf('string')
  })
})
