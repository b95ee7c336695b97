import { holds, PERMISSIONS } from '#shared/identity/permissions.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import type { ListedRole } from '#web/pages/members/people.ts'
import { rolePages } from '#web/texts/role-pages.ts'

/** Who may what: a row for each permission, a column for each role. On a phone, each row names the roles that hold it. */
export function roleMatrix(ui: ShopUi, roles: readonly ListedRole[]): Html {
  const texts = rolePages[ui.language]
  const named = roles.map((role) => ({ ...role, name: roleName(ui.language, role) }))
  return html`<div class="scroll" role="region" aria-label="${texts.matrix}" tabindex="0"><table class="matrix">
<caption><span class="unseen">${texts.caption}</span></caption>
<thead><tr><th scope="col">${texts.may}</th>${named.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${PERMISSIONS.map(
    (permission) =>
      html`<tr><th scope="row">${ui.t.roles.permissions[permission]}</th>${named.map(({ name, permissions }) =>
        holds(permissions, permission)
          ? html`<td class="yes" data-label="${name}"><span aria-hidden="true">✓</span><span class="unseen">${texts.yes}</span></td>`
          : html`<td class="no" data-label="${name}"><span aria-hidden="true">–</span><span class="unseen">${texts.no}</span></td>`,
      )}</tr>`,
  )}</tbody>
</table></div>`
}
