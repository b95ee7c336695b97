import * as v from 'valibot'

/** A field of a query that may be left out. One that is sent several times counts as none. */
export const optional = v.fallback(v.nullable(v.string()), null)

/** The query of a page that passes the notice on in a redirect. */
export const NoticeQuery = v.object({ notice: optional })
