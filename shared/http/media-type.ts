export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** A media type that a body may have: JSON, another format that is JSON (RFC 6839), or a form. */
export type MediaType = typeof JSON_TYPE | typeof FORM_TYPE | `application/${string}+json`

/** Returns the media type in lower case, without its charset; an empty text for none, and for a charset other than UTF-8. */
export const mediaTypeOf = (contentType: string): string =>
  /^([^ ;]+) *(?:; *charset="?utf-8"? *)?$/i.exec(contentType)?.[1]?.toLowerCase() ?? ''
