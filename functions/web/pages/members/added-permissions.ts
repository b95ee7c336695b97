import { PERMISSIONS, type Permission } from '#shared/identity/permissions.ts'
import { optional } from '#web/http/query.ts'

/** What the name of each field begins with. */
export const PREFIX = 'add-'

/** The fields of a form that adds permissions: each is a checkbox of its own, which is sent only when it is checked. */
export const Added = Object.fromEntries(PERMISSIONS.map((permission) => [PREFIX + permission, optional] as const))

/** The permissions that a form adds. */
export const addedOf = (form: Readonly<Record<string, unknown>>): Permission[] =>
  PERMISSIONS.filter((permission) => form[PREFIX + permission] === 'yes')
