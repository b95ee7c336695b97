import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { Added, addedOf, addition } from '#web/pages/members/added-permissions.ts'
import { careful, type ListedRole } from '#web/pages/members/people.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'
import { field, form } from '#web/view/form.ts'
import { confirmation } from '#web/view/parts.ts'

export const editRole = page({
  route: 'GET /s/{slug}/roles/{role}',
  access: { permission: 'member.manage' },
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => roleView(context, ownRole(context.data.data, context.params.role)),
})

export const updateRole = page({
  route: 'POST /s/{slug}/roles/{role}',
  access: { permission: 'member.manage' },
  stepUp: 'PATCH /v1/roles/{id}',
  form: v.looseObject({ label: v.string(), ...Added }),
  ownTexts: ({ roles }) => ({ label: { duplicate: roles.labelTaken } }),
  async handle({ params, form, call }) {
    const body = { label: form.label, add: addedOf(form) }
    const { label } = await call('PATCH /v1/roles/{id}', { params: { id: params.role }, body })
    return redirect(shopPath(params.slug, '/roles'), { notice: 'role-updated', about: { role: label } })
  },
  again: async (context) => {
    const { data } = await context.call('GET /v1/roles')
    return roleView(context, ownRole(data, context.params.role))
  },
})

export const deleteRole = page({
  route: 'POST /s/{slug}/roles/{role}/delete',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/roles/{id}',
  formAt: '/s/{slug}/roles/{role}',
  async handle({ params, call }) {
    const deleted = await unlessGone(call('DELETE /v1/roles/{id}', { params: { id: params.role } }))
    const about = { role: deleted?.label ?? '' }
    return redirect(shopPath(params.slug, '/roles'), { notice: 'role-deleted', about })
  },
  again: async (context) => {
    const { data } = await context.call('GET /v1/roles')
    return roleView(context, ownRole(data, context.params.role))
  },
})

function ownRole(roles: readonly ListedRole[], id: string): { role: ListedRole; base: ListedRole | null } {
  const role = roles.find((listed) => String(listed.id) === id && listed.tenant_role)
  if (role === undefined) throw notFound('the shop has no role of its own with this id')
  return { role, base: roles.find(({ code, tenant_role: own }) => !own && code === role.based_on) ?? null }
}

function roleView(ui: ShopUi, { role, base }: { readonly role: ListedRole; readonly base: ListedRole | null }): View {
  const { roles: texts } = ui.t
  const list = shopPath(ui.session.tenant.slug, '/roles')
  const to = `${list}/${role.id}`
  const name = base === null ? '' : roleName(ui.language, base)
  return view({
    title: texts.editTitle(role.label),
    content: html`<p class="prose">${texts.baseText(name, permissionsOf(texts, base?.permissions ?? []))}</p>
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
