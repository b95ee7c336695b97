import type { Need } from '#shared/base/needs.ts'
import { PAGES } from '#web/http/pages.ts'

/** The front end: one Lambda that serves every page. It has no database role and no pepper. */
export const frontEnd = {
  name: 'web',
  needs: ['web-key'],
  pages: PAGES,
} as const satisfies { readonly name: string; readonly needs: readonly Need[]; readonly pages: typeof PAGES }
