import type { Language } from '#shared/schema/language.ts'

/**
 * Every permission of the service, and whether an API key may hold it. An endpoint names the one that it requires, and is open to keys if
 * they may hold that one; app.role_permissions says which roles hold it. A new permission is a line here, its texts below, and its rows
 * in a migration: a test compares the two. Keys never decide who has access or what is approved.
 */
const TABLE = {
  'catalog.read': { keys: true },
  'company.read': { keys: true },
  'company.write': { keys: false },
  'customer.read': { keys: true },
  'customer.write': { keys: true },
  'deal.price.read': { keys: true },
  'deal.price.write': { keys: true },
  'deal.read': { keys: true },
  'deal.write': { keys: true },
  'design.approve': { keys: false },
  'design.read': { keys: true },
  'design.write': { keys: true },
  'member.manage': { keys: false },
  'vendor.manage': { keys: false },
} as const satisfies Readonly<Record<string, { readonly keys: boolean }>>

export type Permission = keyof typeof TABLE

/** A permission that an API key may hold. */
export type KeyPermission = {
  [Each in Permission]: (typeof TABLE)[Each]['keys'] extends true ? Each : never
}[Permission]

export const PERMISSIONS = Object.keys(TABLE) as readonly Permission[]

/** Whether an API key may hold the permission. */
export const mayKeysHold = (permission: Permission): permission is KeyPermission => TABLE[permission].keys

/**
 * What a member who holds each permission may do, in the languages of the pages. It stands beside the list, so that only the bundles
 * that show it contain it.
 */
export const PERMITTED: Readonly<Record<Permission, Readonly<Record<Language, string>>>> = {
  'catalog.read': { en: 'see the catalog', es: 'ver el catálogo' },
  'company.read': { en: 'see the settings', es: 'ver los ajustes' },
  'company.write': { en: 'change the settings', es: 'cambiar los ajustes' },
  'customer.read': { en: 'see customers', es: 'ver clientes' },
  'customer.write': { en: 'change customers', es: 'cambiar clientes' },
  'deal.price.read': { en: 'see prices of deals', es: 'ver precios de pedidos' },
  'deal.price.write': { en: 'change prices of deals', es: 'cambiar precios de pedidos' },
  'deal.read': { en: 'see deals', es: 'ver pedidos' },
  'deal.write': { en: 'change deals', es: 'cambiar pedidos' },
  'design.approve': { en: 'approve designs', es: 'aprobar diseños' },
  'design.read': { en: 'see designs', es: 'ver diseños' },
  'design.write': { en: 'change designs', es: 'cambiar diseños' },
  'member.manage': { en: 'manage members', es: 'gestionar miembros' },
  'vendor.manage': { en: 'manage vendor accounts', es: 'gestionar cuentas de proveedores' },
}

export const isPermission = (text: string): text is Permission => Object.hasOwn(TABLE, text)

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
