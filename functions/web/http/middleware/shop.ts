import { forbidden, notFound } from '#shared/base/problem.ts'
import { holds } from '#shared/identity/permissions.ts'
import { given, type WebMiddleware } from '#web/http/request.ts'

/** The page belongs to a shop of the person that the session is not in. It is shown instead of the page, and nothing is done. */
export class OtherShop extends Error {
  override name = 'OtherShop'
  readonly shop: { readonly id: string; readonly slug: string; readonly legal_name: string }

  constructor(shop: OtherShop['shop']) {
    super('the address names another shop than the session')
    this.shop = shop
  }
}

/** The session is in no shop yet, or the shop is suspended. The choice of one is shown instead of the page, and says so. */
export class NoShop extends Error {
  override name = 'NoShop'
}

/** Requires that the session is in the shop that the address names, and that the role there holds the page's permission. */
export const shop = (): WebMiddleware => ({
  before: async ({ context: { request: state } }) => {
    const { page, params } = given(state.matched)
    if (typeof page.access !== 'object') return
    const { tenant, permissions } = given(state.session)
    if (tenant === null) throw new NoShop()
    const slug = params['slug']?.toLowerCase()
    if (tenant.slug.toLowerCase() !== slug) {
      const { data } = await given(state.call)('GET /v1/auth/tenants')
      const own = data.find((option) => option.tenant.slug.toLowerCase() === slug)
      // The same for a shop of others and for one that does not exist.
      if (own === undefined) throw notFound('the person is in no shop of this name')
      if (own.tenant.status === 'suspended') throw new NoShop()
      throw new OtherShop(own.tenant)
    }
    const { permission } = page.access
    if (permission !== null && !holds(permissions, permission)) throw forbidden('the role does not hold the permission')
  },
})
