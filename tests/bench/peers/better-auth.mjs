import { betterAuth } from 'better-auth'
import { bearer, organization } from 'better-auth/plugins'
import { createAccessControl } from 'better-auth/plugins/access'
import { adminAc, defaultStatements, ownerAc } from 'better-auth/plugins/organization/access'
import { Pool } from 'pg'

const CONNECTIONS = 10
const COOKIE_CACHE_SECONDS = 3600

/**
 * Returns better-auth with its defaults, bearer tokens, organizations with the roles of Tenantry, and no limits. `permissions`
 * has the permissions of each role, such as `deal.price.read`. A cookie cache is what its guide to performance recommends.
 */
export function configure({ databaseUrl, secret, permissions, cookieCache, url }) {
  const pool = new Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  const options = {
    database: pool,
    secret,
    baseURL: url,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { level: 'error' },
    emailAndPassword: { enabled: true },
    ...(cookieCache ? { session: { cookieCache: { enabled: true, maxAge: COOKIE_CACHE_SECONDS } } } : {}),
    plugins: [
      bearer(),
      organization({
        ...accessControl(permissions),
        membershipLimit: 1_000_000,
        invitationLimit: 1_000_000,
        sendInvitationEmail: async () => {},
      }),
    ],
  }
  return { pool, options, auth: betterAuth(options) }
}

function accessControl(permissions) {
  const own = group(Object.values(permissions).flat())
  const ac = createAccessControl({ ...defaultStatements, ...own })
  const manages = { owner: { ...ownerAc.statements, ...own }, admin: adminAc.statements }
  const roles = Object.fromEntries(
    Object.entries(permissions).map(([code, held]) => [code, ac.newRole({ ...group(held), ...manages[code] })]),
  )
  return { ac, roles }
}

/** Groups `deal.read` and `deal.price.read` to `{ deal: ['read', 'price.read'] }`. */
function group(permissions) {
  const grouped = {}
  for (const permission of new Set(permissions)) {
    const [resource, ...action] = permission.split('.')
    if (action.length > 0) (grouped[resource] ??= []).push(action.join('.'))
  }
  return grouped
}
