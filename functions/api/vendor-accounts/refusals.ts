import * as v from 'valibot'
import type { DeclaredProblem } from '#shared/http/endpoint.ts'
import { invalid, notFound, Problem } from '#shared/base/problem.ts'
import { REFUSED } from '#shared/suppliers/ask-vendor.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { type FoundAccount, findVendorAccount } from './queries.ts'

/** Returns the account. Throws 404 if it is revoked or not of this tenant. */
export async function accountOf(sql: TenantTransaction, id: string): Promise<FoundAccount> {
  const found = await findVendorAccount(sql, id)
  if (found === null) throw notFound('no vendor account with this id')
  return found
}

export const refused = (): Problem => invalid([{ pointer: '#/secret', code: 'refused-by-vendor' }], 'vendor-rejected')

/** The 503 of an endpoint that depends on the vendor's response. */
export const VENDOR_UNREACHABLE: DeclaredProblem = {
  kind: 'vendor-unreachable',
  members: v.object({ last_error: v.pipe(v.string(), v.examples(['timeout'])) }),
}

/** Returns the 503 for a vendor that gave no verdict. `code` says why and quotes nothing from the vendor. */
export const unreachable = (code: string): Problem =>
  new Problem('vendor-unreachable', {
    headers: { 'retry-after': '60' },
    members: { last_error: code },
    reason: `the vendor could not be reached: ${code}`,
  })

/** Throws 422 or 503 unless the vendor accepted the secret. */
export function mustAccept(lastError: string | null): void {
  if (lastError === REFUSED) throw refused()
  if (lastError !== null) throw unreachable(lastError)
}
