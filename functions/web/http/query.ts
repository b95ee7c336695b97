import * as v from 'valibot'

/** A field of a query that may be left out. One that is sent several times counts as none. */
export const optional = v.fallback(v.nullable(v.string()), null)

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
