import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { EVERY_PERMISSION, holds } from '#shared/identity/permissions.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { Added, addedOf, addition } from '#web/pages/members/added-permissions.ts'
import { careful, leastOf, type ListedRole, optionsOf } from '#web/pages/members/people.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'
import { filters } from '#web/view/filters.ts'
import { field, form } from '#web/view/form.ts'

export const newRole = page({
  route: 'GET /s/{slug}/roles/new',
  access: { permission: 'member.manage' },
  query: v.object({ based_on: optional }),
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => newRoleView(context, context.data.data, context.query.based_on),
})

export const createRole = page({
  route: 'POST /s/{slug}/roles',
  access: { permission: 'member.manage' },
  stepUp: 'POST /v1/roles',
  creates: true,
  formAt: '/s/{slug}/roles/new',
  form: v.looseObject({ code: v.string(), label: v.string(), based_on: v.string(), ...Added }),
  fieldOf: { 'role-exists': 'code' },
  ownTexts: ({ roles }) => ({ code: { 'wrong-format': roles.codeFormat }, label: { duplicate: roles.labelTaken } }),
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
  again: async (context) => {
    const { data } = await context.call('GET /v1/roles')
    return newRoleView(context, data, context.refusal?.values['based_on'] ?? null)
  },
})

/** The base is chosen first: the form shows what can be added to it. Without a choice it is the role that may do the least. */
function newRoleView(ui: ShopUi, roles: readonly ListedRole[], chosen: string | null): View {
  const { session, language } = ui
  const { roles: texts } = ui.t
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
  html`<p class="prose">${texts.baseText(roleName(language, base), permissionsOf(texts, base.permissions))}</p>
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
