/**
 * Every permission of the service. An endpoint names the one that it requires; app.role_permissions says which roles hold
 * it. A new permission is a line here and its rows in a migration: a test compares the two.
 */
export const PERMISSIONS = [
  'catalog.read',
  'company.read',
  'company.write',
  'customer.read',
  'customer.write',
  'deal.price.read',
  'deal.price.write',
  'deal.read',
  'deal.write',
  'design.approve',
  'design.read',
  'design.write',
  'member.manage',
  'vendor.manage',
] as const

export type Permission = (typeof PERMISSIONS)[number]

export const isPermission = (text: string): text is Permission => PERMISSIONS.some((each) => each === text)

/** In a role's permissions it stands for every permission. */
export const EVERY_PERMISSION = '*'

/** Whether a role's stored permissions include this one. */
export const holds = (permissions: readonly string[], permission: Permission | typeof EVERY_PERMISSION): boolean =>
  permissions.includes(permission) || permissions.includes(EVERY_PERMISSION)

/** Whether a role's stored permissions include all of these. */
export const holdsAll = (
  permissions: readonly string[],
  wanted: readonly (Permission | typeof EVERY_PERMISSION)[],
): boolean => wanted.every((permission) => holds(permissions, permission))
