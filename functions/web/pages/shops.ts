import { shownEmail } from '#shared/schema/shown-email.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import * as v from 'valibot'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { isNotice } from '#web/http/notices.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, view } from '#web/http/reply.ts'
import { choice, isSuspended, nextIn, belongsTo, suspended } from '#web/pages/shop-choice.ts'
import { empty } from '#web/view/parts.ts'

/** The shops of the person. The only one is selected immediately. */
export const listShops = page({
  route: 'GET /shops',
  access: 'session',
  query: v.object({ ...NoticeQuery.entries, next: optional, q: optional }),
  load: ({ call }) => call('GET /v1/auth/tenants'),
  async handle(context) {
    const { data, session, call, t, query } = context
    const notice = isNotice(query.notice) ? query.notice : null
    const wanted = data.data.find(({ tenant }) => belongsTo(query.next, tenant.slug)) ?? null
    const [only, second] = data.data.filter((option) => !isSuspended(option))
    if (only !== undefined && second === undefined && (wanted === null || wanted === only)) {
      if (session.tenant === null) await call('POST /v1/auth/tenants/{id}/select', { params: { id: only.tenant.id } })
      if (session.tenant === null || query.next !== null)
        return redirect(nextIn(context, only.tenant.slug, query.next), { notice })
    }
    if (data.data.length === 0)
      return view({
        title: t.shops.title,
        content: empty(
          t.shops.noneTitle,
          html`<p>${t.shops.none} <strong>${shownEmail(session.user.email)}</strong></p>`,
        ),
      })
    return view({
      title: data.data.length === 1 ? t.shops.titleOfOne : t.shops.title,
      ...(wanted === null
        ? {}
        : { about: { shop: shopName(wanted.tenant), role: roleName(context.language, wanted.role) } }),
      content:
        only === undefined
          ? suspended(context, data.data)
          : choice(context, { options: data.data, wanted, joined: notice === 'joined' }, query),
    })
  },
})

/** Selects a shop, and leads to its start page or to the page that the person wanted. */
export const chooseShop = page({
  route: 'POST /shops',
  access: 'session',
  form: v.object({ tenant: v.pipe(v.string(), v.uuid()), next: optional }),
  async handle(context) {
    const { form, call, session } = context
    const { tenant } = await call('POST /v1/auth/tenants/{id}/select', { params: { id: form.tenant } })
    const to = tenant === null ? '/' : nextIn(context, tenant.slug, form.next)
    return redirect(to, { notice: session.tenant === null ? null : 'shop-switched' })
  },
})
