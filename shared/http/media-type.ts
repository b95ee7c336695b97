export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** A media type that a body may have: JSON, another format that is JSON (RFC 6839), or a form. */
export type MediaType = typeof JSON_TYPE | typeof FORM_TYPE | `application/${string}+json`

// https://www.rfc-editor.org/rfc/rfc9110#section-5.6.6: a parameter may be empty, and its value quoted. Blanks match in one way only.
const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const PARAMETER = `(${TOKEN})=(${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*(?:;[ \\t]*(?:${PARAMETER}[ \\t]*)?)*$`)
const PARAMETERS = new RegExp(`;[ \\t]*${PARAMETER}`, 'g')

/** Returns the media type in lower case, without its parameters; an empty text for none, and for a charset other than UTF-8. */
export function mediaTypeOf(contentType: string): string {
  const type = MEDIA_TYPE.exec(contentType)?.[1]?.toLowerCase() ?? ''
  for (const [, name = '', value = ''] of contentType.matchAll(PARAMETERS)) {
    const unquoted = value.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1')
    if (name.toLowerCase() === 'charset' && unquoted.toLowerCase() !== 'utf-8') return ''
  }
  return type
}
