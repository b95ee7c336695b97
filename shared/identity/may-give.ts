import { type EVERY_PERMISSION, holdsAll, type Permission } from '#shared/identity/permissions.ts'

interface Giver {
  readonly role: { readonly rank: number }
  readonly permissions: readonly string[]
}

interface GivenRole {
  readonly rank: number
  readonly permissions: readonly (Permission | typeof EVERY_PERMISSION)[]
}

/**
 * Returns whether a principal who manages members may give a role, and so take it away, as app.may_give does: it does not outrank
 * theirs, and they hold every permission of it. Roles of a tenant may share a rank and differ in permissions.
 */
export const mayGive = (principal: Giver, { rank, permissions }: GivenRole): boolean =>
  rank <= principal.role.rank && holdsAll(principal.permissions, permissions)
