import { hasSteppedUp } from '../../../shared/identity/has-stepped-up.ts'
import { DoorFailed } from './invoke-authorize.ts'
import type { Question } from './door.ts'
import { type Guard, guardOf } from './guard-of.ts'
import { holds, type Permission } from './permission.ts'
import type { AnyPrincipal, KeyPrincipal, Principal } from './principal.ts'

/** Returns a principal for a unit test: a sales member of one tenant, who has just signed in. Give what matters to the test. */
export const testPrincipal = (given: Partial<Principal> = {}): Principal => ({
  kind: 'session',
  session_id: '00000000-0000-4000-8000-000000000001',
  second_factor_at: null,
  stepped_up_at: new Date().toISOString(),
  user: { id: '00000000-0000-4000-8000-000000000002', email: 'sales@acme.test', full_name: 'Sam Sales' },
  tenant: {
    id: '00000000-0000-4000-8000-000000000003',
    slug: 'acme-print',
    status: 'active',
    timezone: 'America/New_York',
    currency: 'USD',
  },
  membership_id: '00000000-0000-4000-8000-000000000004',
  role: { id: 3, code: 'sales', rank: 60 },
  permissions: ['deal.read', 'deal.write'],
  proof: '',
  ...given,
})

/** Returns the principal of an API key for a unit test, of the same tenant. */
export const testKeyPrincipal = (given: Partial<KeyPrincipal> = {}): KeyPrincipal => ({
  kind: 'key',
  key: { id: '00000000-0000-4000-8000-000000000005', name: 'Nightly export' },
  tenant: testPrincipal().tenant,
  permissions: ['deal.read', 'deal.write'],
  proof: '',
  ...given,
})

/** What a bearer token of a test stands for. `pending` has selected no tenant. `down`: Tenantry does not decide. */
export type TestCaller = AnyPrincipal | 'pending' | 'down'

/**
 * Returns a guard for unit tests, which asks nobody. It decides as Tenantry does: a token that is not listed is refused with 401, a
 * permission that the principal lacks with 403, an API key with 403 where the route does not accept keys, and a step-up that is too old
 * with the 403 `step-up-required`. No database accepts the proof of a test principal: `readInTenant` needs the real one.
 */
export const testGuard = (
  callers: Readonly<Record<string, TestCaller>>,
  options: { problemBaseUrl?: string } = {},
): Guard =>
  guardOf(async ({ authorization, permission, principals, step_up_seconds: seconds }: Question) => {
    const [, token = ''] = (authorization.length === 1 && /^Bearer +(\S+)$/i.exec(authorization[0] ?? '')) || []
    const caller = Object.hasOwn(callers, token) ? callers[token] : undefined
    if (caller === undefined) return { outcome: 'refused', status: 401 }
    if (caller === 'down') throw new DoorFailed('the test says that Tenantry is down')
    const kind = caller === 'pending' ? 'session' : caller.kind
    if (!principals.includes(kind)) return { outcome: 'refused', status: 403 }
    if (caller === 'pending') return { outcome: 'refused', status: 403, slug: 'tenant-not-selected' }
    const may = permission === null || holds(caller, permission as Permission)
    if (!may || (caller.kind === 'key' && (permission === null || seconds !== null)))
      return { outcome: 'refused', status: 403 }
    if (seconds !== null && caller.kind === 'session' && !hasSteppedUp(caller, seconds))
      return { outcome: 'refused', status: 403, slug: 'step-up-required' }
    return { outcome: 'allowed', principal: caller }
  }, options)
