import * as v from 'valibot'
import type { DeclaredProblem } from '#shared/http/endpoint.ts'
import { invalid, notFound, Problem } from '#shared/problem.ts'
import { REFUSED } from '#shared/vendor/ask-vendor.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { type FoundAccount, findVendorAccount } from './queries.ts'

/** The account, whose secret is there. Throws a 404 for one that was revoked, as for another shop's. */
export async function accountOf(sql: TenantTransaction, id: string): Promise<FoundAccount> {
  const found = await findVendorAccount(sql, id)
  if (found === null) throw notFound('no vendor account of this id')
  return found
}

export const refused = (): Problem =>
  invalid([{ pointer: '#/secret', detail: 'was refused by the vendor' }], 'vendor-rejected')

/** The 503 of an endpoint that cannot do without the vendor's answer. */
export const VENDOR_UNREACHABLE: DeclaredProblem = {
  kind: 'vendor-unreachable',
  members: v.object({ last_error: v.pipe(v.string(), v.examples(['timeout'])) }),
}

/** 503 while the vendor gives no answer; `code` says why, and nothing that the vendor said. */
export const unreachable = (code: string): Problem =>
  new Problem('vendor-unreachable', {
    headers: { 'retry-after': '60' },
    members: { last_error: code },
    reason: `the vendor was not reached: ${code}`,
  })

/** Throws unless the vendor accepted. */
export function mustAccept(lastError: string | null): void {
  if (lastError === REFUSED) throw refused()
  if (lastError !== null) throw unreachable(lastError)
}
