import { shopName } from '#shared/identity/shop-name.ts'
import { html } from '#web/http/html.ts'
import type { OtherShop } from '#web/http/middleware/shop.ts'
import { type View, view } from '#web/http/reply.ts'
import { returnAddress } from '#web/http/form-address.ts'
import { given, type WebState } from '#web/http/request.ts'
import type { Ui } from '#web/view/ui.ts'
import { actionButton } from '#web/view/form.ts'

/** The page that stands in the place of a page of another shop. */
export const otherShop = (state: WebState, { shop }: OtherShop): ((ui: Ui) => View) => {
  const next = returnAddress(state) ?? ''
  return (ui) => {
    const { otherShop: texts } = ui.t
    const current = shopName(given(ui.session?.tenant ?? null))
    return view({
      status: 409,
      title: texts.title,
      content: html`<div class="prose"><p><strong>${texts.acting(current)}</strong></p>
<p>${texts.wanted(shopName(shop))}</p></div>
${actionButton(ui, { to: '/shops', hidden: { tenant: shop.id, next }, label: texts.switch(shopName(shop)), style: 'main' })}`,
    })
  }
}
