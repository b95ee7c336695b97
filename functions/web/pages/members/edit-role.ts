import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { Added, addedOf } from '#web/pages/members/added-permissions.ts'
import type { ListedRole } from '#web/pages/members/people.ts'

const views = () => import('#web/pages/members/role-views.ts')

export const editRole = page({
  route: 'GET /s/{slug}/roles/{role}',
  access: { permission: 'member.manage' },
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => (await views()).roleView(context, ownRole(context.data.data, context.params.role)),
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
    return (await views()).roleView(context, ownRole(data, context.params.role))
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
    return (await views()).roleView(context, ownRole(data, context.params.role))
  },
})

function ownRole(roles: readonly ListedRole[], id: string): { role: ListedRole; base: ListedRole | null } {
  const role = roles.find((listed) => String(listed.id) === id && listed.tenant_role)
  if (role === undefined) throw notFound('the shop has no role of its own with this id')
  return { role, base: roles.find(({ code, tenant_role: own }) => !own && code === role.based_on) ?? null }
}
