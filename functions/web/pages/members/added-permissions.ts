import { holds, PERMISSIONS, type Permission } from '#shared/identity/permissions.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import type { ListedRole } from '#web/pages/members/people.ts'
import { checkboxes } from '#web/view/choices.ts'

const PREFIX = 'add-'

/** The fields of a form that adds permissions: each is a checkbox of its own, which is sent only when it is checked. */
export const Added = Object.fromEntries(PERMISSIONS.map((permission) => [PREFIX + permission, optional] as const))

/** The permissions that a form adds. */
export const addedOf = (form: Readonly<Record<string, unknown>>): Permission[] =>
  PERMISSIONS.filter((permission) => form[PREFIX + permission] === 'yes')

/** What can be added to a base: what the person holds and the base does not. */
export function addition(
  ui: ShopUi,
  { base, added }: { readonly base: Pick<ListedRole, 'permissions'> | null; readonly added: readonly string[] },
): Html {
  const { roles: texts } = ui.t
  const options = PERMISSIONS.filter(
    (permission) => holds(ui.session.permissions, permission) && !holds(base?.permissions ?? [], permission),
  ).map((permission) => ({
    value: permission,
    label: texts.permissions[permission],
    careful: permission === 'member.manage' ? texts.careful : null,
  }))
  return options.length === 0
    ? html`<p class="hint">${texts.nothingToAdd}</p>`
    : checkboxes(ui, { legend: texts.adds, prefix: PREFIX, options }, added)
}
