import * as v from 'valibot'
import type { Client, ReplyOf } from '#shared/client/client.ts'
import type { Language } from '#shared/schema/language.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { DAYS, dayName, isDay, startOfDay } from '#web/view/time.ts'
import type { FieldMessage, Ui } from '#web/view/ui.ts'

// An empty field is none. What is no day of the calendar is refused at the field.
const Text = v.fallback(
  v.nullable(
    v.pipe(
      v.string(),
      v.transform((text) => (text.trim() === '' ? null : text.trim())),
    ),
  ),
  null,
)

export const Query = v.object({
  ...NoticeQuery.entries,
  who: Text,
  /** One person of those whom `who` finds. */
  actor: v.fallback(v.nullable(v.pipe(v.string(), v.uuid())), null),
  action: v.fallback(v.nullable(v.pipe(v.string(), v.regex(/^[a-z_]+\.[a-z_]+$/))), null),
  from: Text,
  to: Text,
  sign_ins: v.fallback(v.nullable(v.picklist(['shown'])), null),
  cursor: optional,
})
export type Query = v.InferOutput<typeof Query>

/** The people whose entries are shown, with the entries; null: too many people to look for, or a refused day. */
export interface Found {
  readonly people: readonly Person[]
  readonly log: ReplyOf<'GET /v1/audit-log'> | null
}

/** A present or former member. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly full_name: string | null
}

/** How many people a search may find. The API takes no more. */
export const MOST_PEOPLE = 20
const LONGEST_SEARCH = 200

/** Returns the fields of the filter, for the address of another page of it. */
export const fieldsOf = ({ who, actor, action, from, to, sign_ins }: Query) => ({
  who,
  actor,
  action,
  from,
  to,
  sign_ins,
})

/** Returns the filter as the API takes it. The days are days of the shop. */
export const sentFilter = (query: Query, people: readonly Person[], timezone: string) => {
  const { actor, action, from, to, sign_ins: signIns } = query
  const actors = people.length > 0 ? people.map(({ id }) => id).join(',') : actor
  const days = { from: from && startOfDay(from, timezone), to: to && startOfDay(to, timezone, 1) }
  return { ...present({ actor: actors, action, ...days }), ...(signIns === null && { leave_out: 'sign-ins' as const }) }
}

/** Finds the people of the search. */
export async function findPeople(call: Client['call'], { who, actor }: Query): Promise<readonly Person[]> {
  if (who === null || actor !== null) return []
  const { data } = await call('GET /v1/members', {
    query: { q: who.slice(0, LONGEST_SEARCH), status: 'active,revoked', limit: MOST_PEOPLE + 1 },
  })
  return data.flatMap(({ user: { id, email, full_name } }) => (id === null ? [] : [{ id, email, full_name }]))
}

/** Whether the entries of these people can be found: the search of a person found somebody, and not too many. */
export const isSearchable = ({ who, actor }: Query, people: readonly Person[]): boolean =>
  people.length <= MOST_PEOPLE && (who === null || actor !== null || people.length > 0)

/** Finds the people of the search, and then the entries. */
export async function find(call: Client['call'], query: Query, timezone: string): Promise<Found> {
  const people = await findPeople(call, query)
  if (!isSearchable(query, people)) return { people, log: null }
  const filter = sentFilter(query, people, timezone)
  const log = await call('GET /v1/audit-log', {
    query: { ...filter, ...present({ cursor: query.cursor }), include: 'position,roles' },
  })
  return { people, log }
}

/** Returns how the pages show each action, in a language. */
export const actionsIn = async (language: Language): Promise<ActionTexts> =>
  (await import('#web/texts/audit-actions.ts')).auditActions[language]

/** Returns what is wrong with the days of the filter. */
export function errorsIn({ language, t }: Ui, query: Query): FieldMessage[] {
  const message = t.auditLog.notADay(dayName(language, DAYS.min), dayName(language, DAYS.max))
  return (['from', 'to'] as const).flatMap((field) => {
    const day = query[field]
    return day === null || isDay(day) ? [] : [{ field, message }]
  })
}
