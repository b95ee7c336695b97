import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { notFound } from '#shared/base/problem.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { EVERY_PERMISSION, holds, PERMISSIONS, type Permission } from '#shared/identity/permissions.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { checkboxes, field, form, select } from '#web/view/form.ts'
import { badge, confirmation, table } from '#web/view/parts.ts'
import { type ListedRole, optionsOf } from '#web/pages/members/people.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'

const PREFIX = 'add-'

// Each permission is a checkbox of its own, which is sent only when it is checked.
const Added = Object.fromEntries(PERMISSIONS.map((permission) => [PREFIX + permission, optional] as const))

const addedOf = (form: Readonly<Record<string, unknown>>): Permission[] =>
  PERMISSIONS.filter((permission) => form[PREFIX + permission] === 'yes')

export const listRoles = page({
  route: 'GET /s/{slug}/roles',
  access: { permission: 'member.manage' },
  navigation: 'roles',
  query: NoticeQuery,
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => rolesView(context, context.data.data),
})

export const createRole = page({
  route: 'POST /s/{slug}/roles',
  access: { permission: 'member.manage' },
  creates: true,
  form: v.looseObject({ code: v.string(), label: v.string(), based_on: v.string(), ...Added }),
  fieldOf: { 'role-exists': 'code' },
  ownTexts: ({ roles }) => ({ code: { 'wrong-format': roles.codeFormat } }),
  async handle({ params, form, call, idempotencyKey }) {
    const { code, label, based_on } = form
    const add = addedOf(form)
    try {
      await call('POST /v1/roles', { body: { code, label, based_on, add }, idempotencyKey })
    } catch (error) {
      if (!(error instanceof ProblemError) || error.kind !== 'role-exists') throw error
      // A second press finds the role that the first has added.
      const same = (await call('GET /v1/roles')).data.find((role) => role.code === code)
      if (same?.label !== label || same.based_on !== based_on || !add.every((each) => holds(same.permissions, each)))
        throw error
    }
    return redirect(shopPath(params.slug, '/roles'), { notice: 'role-created', about: { role: label } })
  },
  again: async (context) => rolesView(context, (await context.call('GET /v1/roles')).data),
})

export const editRole = page({
  route: 'GET /s/{slug}/roles/{role}',
  access: { permission: 'member.manage' },
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => roleView(context, ownRole(context.data.data, context.params.role)),
})

export const updateRole = page({
  route: 'POST /s/{slug}/roles/{role}',
  access: { permission: 'member.manage' },
  form: v.looseObject({ label: v.string(), ...Added }),
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
  formAt: '/s/{slug}/roles/{role}',
  async handle({ params, call }) {
    const deleted = await unlessGone(call('DELETE /v1/roles/{id}', { params: { id: params.role } }))
    return redirect(shopPath(params.slug, '/roles'), { notice: 'role-deleted', about: { role: deleted?.label ?? '' } })
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

/** The permissions that a person may add to a role: those that they hold. */
const addable = ({ session, t }: ShopUi) =>
  PERMISSIONS.filter((permission) => holds(session.permissions, permission)).map((permission) => ({
    value: permission,
    label: t.roles.permissions[permission],
  }))

function rolesView(ui: ShopUi, roles: readonly ListedRole[]): View {
  const { session } = ui
  const { roles: texts } = ui.t
  const base = shopPath(session.tenant.slug, '/roles')
  const bases = roles.filter(({ tenant_role: own, permissions }) => !own && !permissions.includes(EVERY_PERMISSION))
  const list = table<ListedRole>(
    {
      caption: texts.caption,
      columns: [
        {
          head: texts.role,
          cell: (role) =>
            role.tenant_role && mayGive(session, role)
              ? html`<a href="${base}/${role.id}">${role.label}</a>`
              : roleName(ui.language, role),
        },
        {
          head: texts.kind,
          cell: ({ tenant_role: own }) => (own ? badge(texts.ofShop, 'good') : badge(texts.ofPlatform)),
        },
        { head: texts.may, cell: ({ permissions }) => permissionsOf(texts, permissions) },
      ],
    },
    roles,
  )
  return view({
    title: texts.title,
    content: html`${list}
<h2>${texts.newTitle}</h2>
<p class="prose">${texts.newText}</p>
${form(ui, {
  to: base,
  fields: [
    field(ui, { name: 'label', label: texts.label, autocomplete: 'off' }),
    field(ui, { name: 'code', label: texts.code, hint: texts.codeHint, autocomplete: 'off' }),
    select(ui, { name: 'based_on', label: texts.basedOn, value: 'viewer', options: optionsOf(ui, bases) }),
    checkboxes(ui, { legend: texts.adds, prefix: PREFIX, options: addable(ui) }, []),
  ],
  submit: texts.create,
})}`,
  })
}

function roleView(ui: ShopUi, { role, base }: { readonly role: ListedRole; readonly base: ListedRole | null }): View {
  const { roles: texts } = ui.t
  const list = shopPath(ui.session.tenant.slug, '/roles')
  const to = `${list}/${role.id}`
  const ofBase = base?.permissions ?? []
  const options = addable(ui).filter(({ value }) => !holds(ofBase, value))
  return view({
    title: texts.editTitle(role.label),
    content: html`<p class="prose">${texts.baseText(base === null ? '' : roleName(ui.language, base), permissionsOf(texts, ofBase))}</p>
${form(ui, {
  to,
  fields: [
    field(ui, { name: 'label', label: texts.label, value: role.label, autocomplete: 'off' }),
    options.length === 0
      ? html`<p class="hint">${texts.nothingToAdd}</p>`
      : checkboxes(ui, { legend: texts.adds, prefix: PREFIX, options }, role.permissions),
  ],
  submit: texts.save,
})}
<h2>${texts.deleteTitle}</h2>
${confirmation(ui, { text: html`<p>${texts.deleteText}</p>`, to: `${to}/delete`, label: texts.delete, back: list })}`,
  })
}
