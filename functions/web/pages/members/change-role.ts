import * as v from 'valibot'
import { shopPath } from '#web/addresses.ts'
import { page } from '#web/page.ts'
import { redirect } from '#web/reply.ts'
import { findMembers, membersView } from '#web/pages/members/list-members.ts'

const EVERYBODY = { q: null, status: null, cursor: null }

export const changeMemberRole = page({
  route: 'POST /s/{slug}/members/{id}/role',
  access: { permission: 'member.manage' },
  form: v.object({ role: v.string() }),
  async handle({ params, form, call }) {
    await call('PATCH /v1/members/{id}', { params: { id: params.id }, body: { role: form.role } })
    return redirect(shopPath(params.slug, '/members'), { notice: 'role-changed' })
  },
  again: async (context) => membersView(context, EVERYBODY, await findMembers(context.call, EVERYBODY)),
})
