// Compares each page of a tenant with the API call that it shows, in one run: `npm run bench:pages [-- --rounds N]`.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { removeFolder, start, stateFolder, stop } from '#tests/support/stack-process.ts'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import { count } from './options.ts'
import { median } from './statistics.ts'

const WARM_UPS = 10
const MOST_RATIO = 2

const { values } = parseArgs({ options: { rounds: { type: 'string' } } })
const rounds = count('--rounds', values.rounds, 100)

/** The pages of the seeded tenant, each with the call of the API whose response it shows. */
const PAGES = [
  ['/s/acme-print', '/v1/tenant/overview'],
  ['/s/acme-print/members', '/v1/members'],
  ['/s/acme-print/invitations', '/v1/members/invitations'],
  ['/s/acme-print/roles', '/v1/roles'],
  ['/s/acme-print/vendor-accounts', '/v1/vendor-accounts'],
  ['/s/acme-print/vendor-accounts/new', '/v1/vendors'],
  ['/s/acme-print/sync-runs', '/v1/catalog/sync-runs'],
  ['/s/acme-print/settings', '/v1/tenant'],
  ['/s/acme-print/audit-log', '/v1/audit-log'],
  ['/s/acme-print/audit-log/download', '/v1/audit-log?limit=1&include=part'],
  ['/s/acme-print/roles/new', '/v1/roles'],
  ['/s/acme-print/leave', '/v1/auth/session'],
  ['/shops', '/v1/auth/tenants'],
  ['/account', '/v1/auth/session'],
  ['/account/sessions', '/v1/auth/sessions'],
] as const

async function milliseconds(url: string, headers: Record<string, string>): Promise<number> {
  const begun = performance.now()
  const response = await fetch(url, { headers, redirect: 'manual' })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`)
  return performance.now() - begun
}

const folder = await stateFolder()
const stack = await start(join(folder, 'state'))
try {
  const { gateway_url: api, web_url: web } = stack.info
  const ask = async (method: string, path: string, headers: Record<string, string>, body?: string) =>
    (await fetch(api + path, { method, headers, ...(body === undefined ? {} : { body }) })).json() as Promise<any>
  const credentials = JSON.stringify({ email: 'owner@acme.test', password: SEED_PASSWORD })
  const { token } = await ask('POST', '/v1/auth/login', { 'content-type': 'application/json' }, credentials)
  const [bearer, cookie] = [{ authorization: `Bearer ${token}` }, { cookie: `__Host-tenantry=${token}` }]
  const { data } = await ask('GET', '/v1/auth/tenants', bearer)
  await ask('POST', `/v1/auth/tenants/${data[0].tenant.id}/select`, bearer)
  let slow = 0
  for (const [page, call] of PAGES) {
    const [ofPage, ofCall]: [number[], number[]] = [[], []]
    for (let round = -WARM_UPS; round < rounds; round += 1) {
      const [taken, asked] = [await milliseconds(web + page, cookie), await milliseconds(api + call, bearer)]
      if (round < 0) continue
      ofPage.push(taken)
      ofCall.push(asked)
    }
    const ratio = median(ofPage) / median(ofCall)
    if (ratio > MOST_RATIO) slow += 1
    process.stdout.write(
      `${page.padEnd(36)} p50 ${median(ofPage).toFixed(1)} ms   ${call.padEnd(26)} p50 ${median(ofCall).toFixed(1)} ms   ratio ${ratio.toFixed(2)}\n`,
    )
  }
  process.exitCode = slow === 0 ? 0 : 1
} finally {
  await stop(stack)
  await removeFolder(folder)
}
