import { createHash } from 'node:crypto'
import { Problem } from '#shared/problem.ts'

/** Returns the ETag of a resource: two representations have the same one only if they are equal. */
export const etagOf = (resource: object): string =>
  `"${createHash('sha256').update(JSON.stringify(resource)).digest('base64url').slice(0, 22)}"`

/**
 * Throws 412 when `ifMatch` names ETags and none is that of the resource. Compares strongly (RFC 9110, 13.1.1): a weak ETag
 * matches nothing. Requires that the resource is locked.
 */
export function requireMatch(ifMatch: string | null, resource: object): void {
  if (ifMatch === null || ifMatch.trim() === '*') return
  const strong = ifMatch.split(',').map((tag) => tag.trim())
  if (!strong.includes(etagOf(resource)))
    throw new Problem('precondition-failed', { detail: 'The resource has changed. Read it again.' })
}
