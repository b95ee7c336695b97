import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

/** A field of a query that may be left out. One that is sent several times counts as none. */
export const optional = v.fallback(v.nullable(v.string()), null)

/** A field of a form whose value is one of these. */
export const choiceOf = <const Choice extends string>(choices: readonly Choice[]) =>
  v.picklist(choices, fault({ code: 'not-a-choice', choices: choices.join(', ') }))

/** The query of a page that passes the notice on in a redirect. */
export const NoticeQuery = v.object({ notice: optional })

/** Returns the fields that have a value, as the client sends them. */
export const present = <Fields extends Readonly<Record<string, string | null>>>(
  fields: Fields,
): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } =>
  // Every field that is left is a text of Fields.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== '')) as {
    [Name in keyof Fields]?: NonNullable<Fields[Name]>
  }
