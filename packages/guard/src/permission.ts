import { holds as isHeld, type Permission } from '../../../shared/identity/permissions.ts'
import type { AnyPrincipal } from './principal.ts'

export type { Permission } from '../../../shared/identity/permissions.ts'

/**
 * Whether the role or the key of a principal holds a permission. Use it in place of `includes`: the permissions of an owner are `*`, which
 * stands for every one.
 */
export const holds = ({ permissions }: Pick<AnyPrincipal, 'permissions'>, permission: Permission): boolean =>
  isHeld(permissions, permission)
