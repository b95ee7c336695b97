import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/members/role-views.ts')

export const listRoles = page({
  route: 'GET /s/{slug}/roles',
  access: { permission: 'member.manage' },
  navigation: 'roles',
  query: NoticeQuery,
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => (await views()).rolesView(context, context.data.data),
})
