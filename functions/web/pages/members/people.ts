import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { EVERY_PERMISSION, holds } from '#shared/identity/permissions.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'
import type { Option } from '#web/view/choices.ts'

export type Member = ReplyOf<'GET /v1/members'>['data'][number]
export type ListedRole = ReplyOf<'GET /v1/roles'>['data'][number]

/** The states of the people of the list, as the API filters by them. */
export const MEMBER_STATUSES = ['active', 'revoked'] as const

/** A member's state, in the words of the page. */
export function stateOf({ accepted_at, revoked_at, user }: Member): 'removed' | 'invited' | 'disabled' | 'active' {
  if (revoked_at !== null) return 'removed'
  if (accepted_at === null) return 'invited'
  return user.disabled ? 'disabled' : 'active'
}

/** Whether a member is the person of the session. */
export const isOwn = ({ user }: ShopUi['session'], member: Member): boolean => member.user.id === user.id

/** The name of a person, or the address of one who has none yet. */
export const nameOf = ({ user }: { readonly user: Pick<Member['user'], 'full_name' | 'email'> }): string =>
  user.full_name ?? shownEmail(user.email)

/** What somebody with a role that manages members can do to others, and to the person who gives it. Null for any other role. */
function carefulWith({ session, t }: ShopUi, role: Pick<ListedRole, 'rank' | 'permissions'>): string | null {
  if (!holds(role.permissions, 'member.manage')) return null
  const { careful: text, carefulYou } = t.roles
  const held: readonly string[] = role.permissions
  const holdsOwn = held.includes(EVERY_PERMISSION) || session.permissions.every((own) => held.includes(own))
  return role.rank >= session.role.rank && holdsOwn ? `${text} ${carefulYou}` : text
}

/** The same as a paragraph. */
export function careful(ui: ShopUi, role: ListedRole): Html | null {
  const text = carefulWith(ui, role)
  return text === null ? null : html`<p class="prose careful">${text}</p>`
}

/** The roles that the person of the session may give, the highest first, each with what it may do. */
export const explained = (ui: ShopUi, roles: readonly ListedRole[]) =>
  roles
    .filter((role) => mayGive(ui.session, role))
    .map((role) => ({
      value: role.code,
      label: roleName(ui.language, role),
      hint: ui.t.members.may(permissionsOf(ui.t.roles, role.permissions)),
      careful: carefulWith(ui, role),
    }))

/** The code of the role that may do the least, of those that the person may give. */
export const leastOf = (ui: ShopUi, roles: readonly ListedRole[]): string =>
  roles
    .filter((role) => mayGive(ui.session, role))
    .toSorted((a, b) => a.rank - b.rank || a.permissions.length - b.permissions.length)[0]?.code ?? ''

/** The roles that the person of the session may give, as options. */
export const optionsOf = ({ session, language }: ShopUi, roles: readonly ListedRole[]): Option[] =>
  roles.filter((role) => mayGive(session, role)).map((role) => ({ value: role.code, label: roleName(language, role) }))
