import { createHash } from 'node:crypto'
import { ok, type Reply } from '#shared/http/reply.ts'
import { Problem } from '#shared/base/problem.ts'

/** Returns the ETag of a resource: two representations have the same one only if they are equal. */
export const etagOf = (resource: object): string =>
  `"${createHash('sha256').update(JSON.stringify(resource)).digest('base64url').slice(0, 22)}"`

/** Returns a 200 with the resource and its ETag. */
export const okWithEtag = <Body extends object>(resource: NoInfer<Body>): Reply<Body> =>
  ok(resource, { headers: { etag: etagOf(resource) } })

/**
 * Throws 412 unless `ifMatch` is null or names the ETag of the resource, as the principal may see it. Requires that the resource
 * is locked.
 */
export function requireMatch(ifMatch: string | null, resource: object): void {
  if (ifMatch !== null && !namesEtag(ifMatch, etagOf(resource)))
    throw new Problem('precondition-failed', { detail: 'The resource has changed. Read it again.' })
}

// https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3: a comma may be a part of an ETag.
const ENTITY_TAG = /(?:W\/)?"[!#-~\u0080-\u00ff]*"/g

/** Whether `If-Match` is true for this ETag. Compares strongly (RFC 9110, 13.1.1): a weak ETag matches nothing, as malformed text. */
export function namesEtag(ifMatch: string, etag: string): boolean {
  if (ifMatch.trim() === '*') return true
  const isList = /^[ \t,]*$/.test(ifMatch.replace(ENTITY_TAG, ''))
  return isList && Array.from(ifMatch.matchAll(ENTITY_TAG), ([tag]) => tag).includes(etag)
}
