import { mayGive } from '#shared/identity/may-give.ts'
import { EVERY_PERMISSION, holds, PERMISSIONS } from '#shared/identity/permissions.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { PREFIX } from '#web/pages/members/added-permissions.ts'
import { careful, leastOf, type ListedRole, optionsOf } from '#web/pages/members/people.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'
import { roleMatrix } from '#web/pages/members/role-matrix.ts'
import { rolePages } from '#web/texts/role-pages.ts'
import { checkboxes } from '#web/view/choices.ts'
import { filters } from '#web/view/filters.ts'
import { field, form } from '#web/view/form.ts'
import { confirmation } from '#web/view/parts.ts'

export function rolesView(ui: ShopUi, roles: readonly ListedRole[]): View {
  const { session, language } = ui
  const texts = rolePages[ui.language]
  const base = shopPath(session.tenant.slug, '/roles')
  const own = roles.filter(({ tenant_role: isOwn }) => isOwn)
  const basis = ({ based_on: code }: ListedRole) => roles.find((role) => role.code === code && !role.tenant_role)
  return view({
    title: texts.title,
    content: html`<p><a class="button" href="${base}/new">${texts.newTitle}</a></p>
${
  own.length > 0 &&
  html`<h2>${texts.ofShop}</h2>
<ul>${own.map((role) => {
    const of = basis(role)
    return html`<li>${mayGive(session, role) ? html`<a href="${base}/${role.id}">${role.label}</a>` : role.label}${of !== undefined && html` <span class="quiet">${texts.basedOn} ${roleName(language, of)}</span>`}</li>`
  })}</ul>`
}
<h2>${texts.matrix}</h2>
${roleMatrix(ui, roles)}`,
  })
}

export function roleView(
  ui: ShopUi,
  { role, base }: { readonly role: ListedRole; readonly base: ListedRole | null },
): View {
  const texts = rolePages[ui.language]
  const list = shopPath(ui.session.tenant.slug, '/roles')
  const to = `${list}/${role.id}`
  const name = base === null ? '' : roleName(ui.language, base)
  return view({
    title: texts.editTitle(role.label),
    content: html`<p class="prose">${texts.baseText(name, permissionsOf(ui.t.roles, base?.permissions ?? []))}</p>
${base !== null && careful(ui, base)}
${form(ui, {
  to,
  fields: [
    field(ui, { name: 'label', label: texts.label, value: role.label, autocomplete: 'off' }),
    addition(ui, { base, added: role.permissions }),
  ],
  submit: texts.save,
})}
<h2>${texts.deleteTitle}</h2>
${confirmation(ui, { text: html`<p>${texts.deleteText}</p>`, to: `${to}/delete`, label: texts.delete, back: list })}`,
  })
}

/** The base is chosen first: the form shows what can be added to it. Without a choice it is the role that may do the least. */
export function newRoleView(ui: ShopUi, roles: readonly ListedRole[], chosen: string | null): View {
  const { session, language } = ui
  const texts = rolePages[ui.language]
  const bases = roles.filter(({ tenant_role: own, permissions }) => !own && !permissions.includes(EVERY_PERMISSION))
  const options = optionsOf(ui, bases)
  const code = options.find(({ value }) => value === chosen)?.value ?? leastOf(ui, bases)
  const base = bases.find((role) => role.code === code)
  const list = shopPath(session.tenant.slug, '/roles')
  return view({
    title: texts.newTitle,
    content: html`<p class="prose">${texts.newText}</p>
${filters({ ...ui, path: `${list}/new` }, texts.basedOn, [{ name: 'based_on', label: texts.basedOn, value: code, options }], {}, texts.choose)}
${
  base !== undefined &&
  html`<p class="prose">${texts.baseText(roleName(language, base), permissionsOf(ui.t.roles, base.permissions))}</p>
${careful(ui, base)}
${form(ui, {
  to: list,
  hidden: { based_on: code },
  fields: [
    field(ui, { name: 'label', label: texts.label, autocomplete: 'off' }),
    field(ui, { name: 'code', label: texts.code, hint: texts.codeHint, autocomplete: 'off' }),
    addition(ui, { base, added: [] }),
  ],
  submit: texts.create,
  back: list,
})}`
}`,
  })
}

/** What can be added to a base: what the person holds and the base does not. */
function addition(
  ui: ShopUi,
  { base, added }: { readonly base: Pick<ListedRole, 'permissions'> | null; readonly added: readonly string[] },
): Html {
  const texts = rolePages[ui.language]
  const options = PERMISSIONS.filter(
    (permission) => holds(ui.session.permissions, permission) && !holds(base?.permissions ?? [], permission),
  ).map((permission) => ({
    value: permission,
    label: ui.t.roles.permissions[permission],
    careful: permission === 'member.manage' ? ui.t.roles.careful : null,
  }))
  return options.length === 0
    ? html`<p class="hint">${texts.nothingToAdd}</p>`
    : checkboxes(ui, { legend: texts.adds, prefix: PREFIX, options }, added)
}
