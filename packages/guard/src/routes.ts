import type { Permission } from './permission.ts'
import type { Principal } from './principal.ts'
import { checkStepUp } from './step-up.ts'

/** A permission, or null for every member, and how many seconds ago the session must have signed in or stepped up: 1 to 3600. */
export interface SteppedUp {
  readonly permission: Permission | null
  readonly stepUpSeconds: number
}

/**
 * What each route requires, by `METHOD /resource`: a permission; null when every member of the tenant may; either with a step-up; or
 * 'public' when anybody may, also without a session. A request of a public route is not asked about, and has no principal.
 */
export type Routes = Readonly<Record<string, Permission | null | SteppedUp | 'public'>>

/** What a handler gets: it must look whether there is a principal if one of its routes is public. */
export type PrincipalOf<Listed extends Routes> = 'public' extends Listed[keyof Listed] ? Principal | null : Principal

const ROUTE = /^[A-Z]+ \//

/** Throws for a key that is no route, such as `/orders`, and for seconds that are out of range. */
export function checkRoutes(routes: Routes): void {
  for (const [route, required] of Object.entries(routes)) {
    if (!ROUTE.test(route)) throw new Error(`Not a route, such as GET /orders: ${route}`)
    if (typeof required === 'object' && required !== null) checkStepUp(required)
  }
}
