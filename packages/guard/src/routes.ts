import type { Permission } from './permission.ts'
import type { PrincipalKind, PrincipalOfKind, PrincipalOptions } from './principal.ts'
import { checkStepUp, type StepUpOptions } from './step-up.ts'

/**
 * A permission, or null for every member; how many seconds ago the session must have signed in or stepped up: 1 to 3600; and who may
 * call. No API key may call a route that requires null or a step-up.
 */
export interface Requirement extends StepUpOptions, PrincipalOptions<PrincipalKind> {
  readonly permission: Permission | null
}

/**
 * What each route requires, by `METHOD /resource`: a permission; null when every member of the tenant may; a requirement; or
 * 'public' when anybody may, also without a credential. A request of a public route is not asked about, and has no principal.
 */
export type Routes = Readonly<Record<string, Permission | null | Requirement | 'public'>>

type KindOf<Required> = Required extends { readonly principals: readonly (infer Kind extends PrincipalKind)[] }
  ? Kind
  : 'session'

type FoundBy<Required> = Required extends 'public' ? null : PrincipalOfKind<KindOf<Required>>

/** What a handler gets: it must look whether there is a principal, and of which kind, if its routes differ in that. */
export type PrincipalOf<Listed extends Routes> = FoundBy<Listed[keyof Listed]>

const ROUTE = /^[A-Z]+ \//

/** Throws for a key that is no route, such as `/orders`, and for seconds that are out of range. */
export function checkRoutes(routes: Routes): void {
  for (const [route, required] of Object.entries(routes)) {
    if (!ROUTE.test(route)) throw new Error(`Not a route, such as GET /orders: ${route}`)
    if (typeof required === 'object' && required !== null) checkStepUp(required)
  }
}
