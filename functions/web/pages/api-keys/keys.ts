import * as v from 'valibot'
import { API_KEY_STATUSES } from '#shared/identity/api-key-status.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { keysPath, readKey, readLiveKey } from '#web/pages/api-keys/key.ts'

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/api-keys/key-views.ts')

export const listKeys = page({
  route: 'GET /s/{slug}/api-keys',
  access: { permission: 'member.manage' },
  navigation: 'apiKeys',
  query: v.object({
    ...NoticeQuery.entries,
    cursor: optional,
    status: v.fallback(v.picklist(API_KEY_STATUSES), 'live'),
  }),
  load: ({ call, query: { cursor, status } }) =>
    call('GET /v1/api-keys', { query: { ...present({ cursor }), status } }),
  handle: async (context) => (await views()).listView(context, context.data, context.query),
})

export const askKeyName = page({
  route: 'GET /s/{slug}/api-keys/{id}/name',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => readLiveKey(call, params.id),
  handle: async (context) => (await views()).nameView(context, context.data),
})

export const renameKey = page({
  route: 'POST /s/{slug}/api-keys/{id}/name',
  access: { permission: 'member.manage' },
  stepUp: 'PATCH /v1/api-keys/{id}',
  form: v.object({ name: v.string() }),
  fieldOf: { 'key-exists': 'name' },
  async handle({ params, form, call }) {
    const { name } = await call('PATCH /v1/api-keys/{id}', { params: { id: params.id }, body: { name: form.name } })
    return redirect(keysPath(params.slug), { notice: 'key-renamed', about: { key: name } })
  },
  again: async (context) => (await views()).nameView(context, await readKey(context.call, context.params.id)),
})

export const confirmKeyRevocation = page({
  route: 'GET /s/{slug}/api-keys/{id}/revoke',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => readLiveKey(call, params.id),
  handle: async (context) => (await views()).revocationView(context, context.data),
})

export const revokeKey = page({
  route: 'POST /s/{slug}/api-keys/{id}/revoke',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/api-keys/{id}',
  async handle({ params, call }) {
    const revoked = await unlessGone(call('DELETE /v1/api-keys/{id}', { params: { id: params.id } }))
    return redirect(keysPath(params.slug), { notice: 'key-revoked', about: { key: revoked?.name ?? '' } })
  },
})
