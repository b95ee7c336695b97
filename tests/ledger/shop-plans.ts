import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { SETTLED_MS } from './ledger.ts'
import { keep, type Plan, type Planners, sentBy, type StaffSessions, take } from './plan.ts'
import type { Shop } from './shops.ts'

const ROLES = ['viewer', 'production', 'designer', 'account', 'sales', 'admin']
const [VENDOR] = vendorAccounts

interface Draft {
  readonly id: string
  readonly tenant: number
}

/** Plans the work in a tenant: its settings, roles, deals and vendors. `styleId` is a style of the catalog. */
export function planShops(
  shops: readonly Shop[],
  staff: StaffSessions,
  styleId: string,
): Planners<'read-tenant' | 'tenant' | 'role' | 'deal' | 'quote' | 'lines' | 'vendor' | 'sync'> {
  const etags = new Map<number, string>()
  const drafts: Draft[] = []
  const withLines: Draft[] = []
  const accounts = new Map<number, string>()
  // The roles that a member may have: more than one after a request without a response.
  const possible = new Map<string, Set<string>>()
  for (const { changing } of shops) for (const id of changing) possible.set(id, new Set(['viewer']))

  const readTenant = (tenant: number): Plan => ({
    kind: 'read-tenant',
    route: 'GET /v1/tenant',
    ...sentBy(staff, tenant),
    settle: ({ isDone, etag }) => {
      if (isDone && etag !== null) etags.set(tenant, etag)
    },
  })

  return {
    'read-tenant': (_marker, { tenant }) => readTenant(tenant),
    tenant: (marker, { tenant }) => {
      const etag = etags.get(tenant)
      if (etag === undefined) return readTenant(tenant)
      etags.delete(tenant)
      return {
        kind: 'tenant',
        route: 'PATCH /v1/tenant',
        ...sentBy(staff, tenant),
        headers: { 'if-match': etag, 'content-type': 'application/merge-patch+json' },
        body: { legal_name: marker },
        isRepeatable: true,
      }
    },
    role: (_marker, { tenant, changing }) => {
      const member = changing.shift()
      const before = possible.get(member ?? '')
      const role = ROLES.find((code) => before?.has(code) === false)
      if (member === undefined || before === undefined || role === undefined) return undefined
      return {
        kind: 'role',
        route: `PATCH /v1/members/${member}`,
        ...sentBy(staff, tenant),
        target: member,
        body: { role },
        settle: ({ isDone, isOpen }) => {
          if (isDone) possible.set(member, new Set([role]))
          if (isOpen) before.add(role)
          setTimeout(() => changing.push(member), isOpen ? SETTLED_MS : 0).unref()
        },
      }
    },
    deal: (marker, { tenant }) => ({
      kind: 'deal',
      route: 'POST /v1/deals',
      ...sentBy(staff, tenant),
      body: { customer_name: marker },
      settle: ({ isDone, body }) => isDone && keep(drafts, { id: body.id, tenant }),
    }),
    lines: (marker, { tenant }) => {
      // The marker is in the line, so the deal is one of the same tenant.
      const at = drafts.findIndex((each) => each.tenant === tenant)
      const [draft] = at < 0 ? [] : drafts.splice(at, 1)
      if (draft === undefined) return undefined
      const { id } = draft
      return {
        kind: 'lines',
        route: `PUT /v1/deals/${id}/lines`,
        ...sentBy(staff, tenant),
        target: id,
        body: { lines: [{ style_id: styleId, color: marker, quantity: 12, unit_price: '5.00' }] },
        settle: ({ isOpen }) => !isOpen && keep(withLines, draft),
      }
    },
    quote: () => {
      const draft = take(withLines)
      if (draft === undefined) return undefined
      const { id, tenant } = draft
      const patch = { target: id, body: { status: 'quoted' }, isRepeatable: true }
      return { kind: 'quote', route: `PATCH /v1/deals/${id}`, ...sentBy(staff, tenant), ...patch }
    },
    vendor: (marker, { tenant }) => ({
      kind: 'vendor',
      route: 'POST /v1/vendor-accounts',
      ...sentBy(staff, tenant),
      body: { vendor: VENDOR?.code, label: marker, account_number: VENDOR?.account_number, secret: VENDOR?.secret },
      settle: ({ isDone, body }) => {
        if (isDone && body.status === 'verified') accounts.set(tenant, body.id)
      },
    }),
    sync: (_marker, { tenant }) => {
      const account = accounts.get(tenant)
      if (account === undefined) return undefined
      const body = { vendor_account_id: account }
      return { kind: 'sync', route: 'POST /v1/catalog/sync-runs', ...sentBy(staff, tenant), body }
    },
  }
}
