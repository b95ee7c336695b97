import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { holds } from '#shared/identity/permissions.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { actionButton, field, form } from '#web/view/form.ts'
import { empty, paging, table } from '#web/view/parts.ts'

type Tags = ReplyOf<'GET /v1/tags'>

export const listTags = page({
  route: 'GET /s/{slug}/tags',
  access: { permission: 'tag.read' },
  navigation: 'tags',
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query: { cursor } }) => call('GET /v1/tags', { query: present({ cursor }) }),
  handle: async (context) => tagsView(context, context.data, context.query.cursor),
})

export const createTag = page({
  route: 'POST /s/{slug}/tags',
  access: { permission: 'tag.write' },
  form: v.object({ name: v.string() }),
  fieldOf: { 'role-exists': 'name' },
  creates: true,
  async handle({ params, form, call, idempotencyKey }) {
    await call('POST /v1/tags', { body: form, idempotencyKey })
    return redirect(shopPath(params.slug, '/tags'), { notice: 'tag-created' })
  },
  again: async (context) => tagsView(context, await context.call('GET /v1/tags')),
})

export const deleteTag = page({
  route: 'POST /s/{slug}/tags/{id}/delete',
  access: { permission: 'tag.write' },
  formAt: '/s/{slug}/tags',
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/tags/{id}', { params: { id: params.id } }))
    return redirect(shopPath(params.slug, '/tags'), { notice: 'tag-deleted' })
  },
})

function tagsView(ui: ShopUi, tags: Tags, cursor: string | null = null): View {
  const { tags: texts, members } = ui.t
  const base = shopPath(ui.session.tenant.slug, '/tags')
  // A button that the API would refuse is not shown.
  const mayWrite = holds(ui.session.permissions, 'tag.write')
  const list = table<Tags['data'][number]>(
    {
      caption: texts.caption,
      columns: [
        { head: texts.name, cell: ({ name }) => name },
        {
          head: members.actions,
          cell: ({ id, name }) =>
            mayWrite && actionButton(ui, { to: `${base}/${id}/delete`, label: texts.remove, about: name }),
        },
      ],
    },
    tags.data,
  )
  return view({
    title: texts.title,
    content: html`${
      mayWrite &&
      form(ui, {
        to: base,
        fields: field(ui, { name: 'name', label: texts.name, autocomplete: 'off' }),
        submit: texts.add,
      })
    }
${tags.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging({ ...ui, path: base }, { query: {}, cursor, next: tags.next_cursor })}`,
  })
}
