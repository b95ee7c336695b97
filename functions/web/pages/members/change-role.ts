import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { type ListedRole, type Member, nameOf } from '#web/pages/members/people.ts'
import { permissionsOf } from '#web/pages/members/roles.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { form, radios } from '#web/view/form.ts'

interface Found {
  readonly member: Member
  readonly roles: readonly ListedRole[]
}

async function findMember(call: Client['call'], id: string): Promise<Found> {
  const member = await call('GET /v1/members/{id}', { params: { id }, query: { include: 'roles' } })
  return { member, roles: member.roles ?? [] }
}

export const chooseRole = page({
  route: 'GET /s/{slug}/members/{id}/role',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => findMember(call, params.id),
  handle: async (context) => roleView(context, context.data),
})

export const changeMemberRole = page({
  route: 'POST /s/{slug}/members/{id}/role',
  access: { permission: 'member.manage' },
  form: v.object({ role: v.string() }),
  async handle({ params, form, call }) {
    await call('PATCH /v1/members/{id}', { params: { id: params.id }, body: { role: form.role } })
    return redirect(shopPath(params.slug, '/members'), { notice: 'role-changed' })
  },
  again: async (context) => roleView(context, await findMember(context.call, context.params.id)),
})

/** Offers the roles that the person may give, each with what it may do. */
function roleView(ui: ShopUi, { member, roles }: Found): View {
  const { t, session } = ui
  const back = shopPath(session.tenant.slug, '/members')
  return view({
    title: t.members.roleOf(nameOf(member)),
    content: html`<p class="quiet">${shownEmail(member.user.email)}</p>
${form(ui, {
  to: `${back}/${member.id}/role`,
  fields: radios(ui, {
    name: 'role',
    legend: t.members.role,
    value: member.role.code,
    options: roles
      .filter((role) => mayGive(session, role))
      .map(({ code, label, permissions }) => ({
        value: code,
        label,
        hint: t.members.may(permissionsOf(t.roles, permissions)),
      })),
  }),
  submit: t.members.change,
  back,
})}`,
  })
}
