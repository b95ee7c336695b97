import { EVERY_PERMISSION, holds, PERMISSIONS } from '#shared/identity/permissions.ts'
import type { Ui } from '#web/view/ui.ts'

type RoleTexts = Ui['t']['roles']

/** What somebody who holds these permissions may do, each in words. */
export const abilities = (texts: RoleTexts, permissions: readonly string[]): string[] =>
  PERMISSIONS.filter((permission) => holds(permissions, permission)).map((permission) => texts.permissions[permission])

/** What a role may do, in words. */
export const permissionsOf = (texts: RoleTexts, permissions: readonly string[]): string =>
  permissions.includes(EVERY_PERMISSION) ? texts.everything : abilities(texts, permissions).join(', ')

/** What somebody who exchanges the first permissions for the others may do no longer, in words. */
export const lost = (texts: RoleTexts, before: readonly string[], after: readonly string[]): string[] =>
  PERMISSIONS.filter((permission) => holds(before, permission) && !holds(after, permission)).map(
    (permission) => texts.permissions[permission],
  )
