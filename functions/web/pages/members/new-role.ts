import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { holds } from '#shared/identity/permissions.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import { Added, addedOf } from '#web/pages/members/added-permissions.ts'

const views = () => import('#web/pages/members/role-views.ts')

export const newRole = page({
  route: 'GET /s/{slug}/roles/new',
  access: { permission: 'member.manage' },
  query: v.object({ based_on: optional }),
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => (await views()).newRoleView(context, context.data.data, context.query.based_on),
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
    return (await views()).newRoleView(context, data, context.refusal?.values['based_on'] ?? null)
  },
})
