import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import { LANGUAGES } from '#web/http/language.ts'
import { linksFor } from '#web/http/navigation.ts'
import type { About } from '#web/texts/notice-text.ts'
import { type GivenNotice, REFUSALS } from '#web/texts/texts.ts'
import type { View } from '#web/http/reply.ts'
import { actionButton, errorSummary, hiddenFields } from '#web/view/form.ts'
import { ENHANCE_FILE } from '#web/view/enhance.ts'
import { withQuery } from '#web/view/parts.ts'
import { ICON_FILE, STYLE_SHEET } from '#web/view/style.ts'
import { absolute } from '#web/view/time.ts'
import type { Ui } from '#web/view/ui.ts'

/** Returns the whole page. `here` is its address with the query. */
export function layout(
  ui: Ui,
  { status, title, content, about }: View,
  { notice, here }: { readonly notice: GivenNotice | null; readonly here: string },
): string {
  const { t, language, session, platform } = ui
  const shop = session?.tenant?.legal_name
  const said = notice === null ? null : noticeText(ui, notice, about)
  const isError = ui.refusal === null ? status === 422 || status === 429 : ui.refusal.errors.length > 0
  const heading = [
    said ?? undefined,
    isError ? `${t.common.errorPrefix} ${title}` : title,
    shop === title ? undefined : shop,
    platform.name,
  ]
  return `<!doctype html>\n${html`<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading.filter((part) => part !== undefined).join(' · ')}</title>
<link rel="stylesheet" href="${STYLE_SHEET.path}">
<link rel="icon" href="${ICON_FILE.path}" type="image/svg+xml">
${
  ui.needs.script &&
  html`<script src="${ENHANCE_FILE.path}" data-working="${t.common.working}"${ui.needs.passkey !== null && html` data-passkey="${JSON.stringify(ui.needs.passkey)}"`} defer></script>
`
}</head>
<body>
<a class="skip" href="#main">${t.common.skip}</a>
<header class="top"><div class="bar">
<a class="brand" href="/">${platform.logoUrl !== '' && html`<img src="${platform.logoUrl}" alt="" height="32"> `}${platform.name}</a>
${session !== null && html`${account(ui, session, 'wide')}${menu(ui, session)}`}
</div>
${session !== null && navigation(ui, session, 'wide')}
</header>
<main id="main" tabindex="-1">
${secondFactorDue(ui, here)}
${notice !== null && html`<p ${REFUSALS.has(notice.code) ? html`class="notice refused" role="alert"` : html`class="notice" role="status"`} tabindex="-1" autofocus>${said}</p>`}
${errorSummary(ui)}
<h1>${title}</h1>
${content}
</main>
<footer class="bottom"><div class="foot">
<form class="languages" method="post" action="/language" aria-label="${t.common.language}">
${hiddenFields({ ...ui.bound('/language'), next: here })}
${Object.entries(LANGUAGES).map(
  ([code, name]) =>
    html`<button type="submit" class="link" name="lang" value="${code}" lang="${code}"${code === language && html` aria-current="true"`}>${name}</button>`,
)}
</form>
${aboutPlatform(ui)}
</div></footer>
</body>
</html>`.toString()}\n`
}

/** Says on each page of a shop from when on it asks the person for a second factor, while their session has none. */
function secondFactorDue(ui: Ui, here: string): Html | null {
  const { path, session } = ui
  const asked = session?.second_factor
  const inShop = `${shopPath(session?.tenant?.slug ?? '')}/`.toLowerCase()
  if (asked?.satisfied !== false || !`${path}/`.toLowerCase().startsWith(inShop)) return null
  const { secondFactor: t } = ui.t
  return html`<p class="banner">${t.askedFrom(absolute(ui, asked.required_from))} <a href="${withQuery('/account/second-factor', { next: here })}">${t.setOneUp}</a></p>`
}

/** Where the operator of the platform leads people. */
function aboutPlatform({ platform, t }: Ui): Html {
  const links = [
    [platform.supportUrl, t.common.support],
    [platform.privacyUrl, t.common.privacy],
    [platform.accessibilityUrl, t.common.accessibility],
  ] as const
  return html`<ul class="about"><li>${platform.name}</li>${links.map(([to, label]) => to !== '' && html`<li><a href="${to}">${label}</a></li>`)}</ul>`
}

type Session = NonNullable<Ui['session']>

/** What the header has on a phone: one line, which opens the rest. */
const menu = (ui: Ui, session: Session): Html =>
  html`<details class="menu"><summary>${session.tenant?.legal_name ?? session.user.full_name ?? shownEmail(session.user.email)}</summary>
${navigation(ui, session, 'list')}
${account(ui, session, 'list')}
</details>`

const account = (ui: Ui, { user, tenant }: Session, kind: 'wide' | 'list'): Html =>
  html`<div class="who ${kind}">
${tenant !== null && html`<span class="shop">${tenant.legal_name}</span> <a href="/shops">${ui.t.common.switchShop}</a>`}
<a class="person" href="/account">${user.full_name ?? shownEmail(user.email)}</a>
${actionButton(ui, { to: '/sign-out', label: ui.t.common.signOut })}
</div>`

function navigation(ui: Ui, { tenant, permissions }: Session, kind: 'wide' | 'list'): Html | null {
  if (tenant === null) return null
  const items = linksFor(ui, tenant.slug, permissions).map(({ name, to, covers }) => {
    const isBelow = (path: string | null) => path !== null && `${ui.path}/`.startsWith(`${path}/`)
    const current = to === ui.path ? 'page' : name !== 'start' && (isBelow(to) || isBelow(covers)) && 'true'
    return html`<li><a href="${to}"${current !== false && html` aria-current="${current}"`}>${ui.t[name].navigation.label}</a></li>`
  })
  return html`<nav class="tabs ${kind}" aria-label="${ui.t.common.shopPages}"><ul>${items}</ul></nav>`
}

/** What a notice says, of the shop and the role of the session if it names no others. */
function noticeText({ t, session, language }: Ui, { code, about }: GivenNotice, others: Partial<About> = {}): string {
  const text = t.notices[code]
  if (typeof text === 'string') return text
  const here = {
    shop: session?.tenant?.legal_name ?? '',
    role: session === null || session.role === null ? '' : roleName(language, session.role),
  }
  return text({ who: '', key: '', ...here, ...others, ...about })
}
