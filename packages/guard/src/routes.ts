import type { Permission } from './permission.ts'
import type { Principal } from './principal.ts'

/**
 * What each route requires, by `METHOD /resource`: a permission; null when every member of the tenant may; or 'public' when
 * anybody may, also without a session. A request of a public route is not asked about, and has no principal.
 */
export type Routes = Readonly<Record<string, Permission | null | 'public'>>

/** What a handler gets: it must look whether there is a principal if one of its routes is public. */
export type PrincipalOf<Listed extends Routes> = 'public' extends Listed[keyof Listed] ? Principal | null : Principal

const ROUTE = /^[A-Z]+ \//

/** Throws for a key that is no route, such as `/orders`. */
export function checkRoutes(routes: Routes): void {
  for (const route of Object.keys(routes))
    if (!ROUTE.test(route)) throw new Error(`Not a route, such as GET /orders: ${route}`)
}
