import { holds } from '#shared/identity/permissions.ts'
import type { Page } from '#web/http/page.ts'
import type { Destination, Ui } from '#web/view/ui.ts'

/** Returns the pages that the navigation leads to, in the order of PAGES. */
export const destinationsOf = (pages: readonly Page[]): Destination[] =>
  pages.flatMap(({ navigation: name, access, path, covers }) =>
    name !== null && typeof access === 'object' ? [{ name, path, permission: access.permission, covers }] : [],
  )

/** Returns the destinations that the person may open, each with its address in the shop. */
export const linksFor = ({ destinations }: Ui, slug: string, permissions: readonly string[]) => {
  const inShop = (path: string) => path.replace('{slug}', encodeURIComponent(slug))
  return destinations
    .filter(({ permission }) => permission === null || holds(permissions, permission))
    .map(({ name, path, covers }) => ({ name, to: inShop(path), covers: covers === null ? null : inShop(covers) }))
}
