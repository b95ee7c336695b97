import { expect, it } from 'vitest'
import { useService } from '#tests/support/test.ts'

const service = useService()
const read = async (token: string) => (await service.request('GET /v1/tenant/overview', { token })).body

const ROLES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer'] as const

/** Fills a tenant: each number of its overview is another one. */
async function fill(tenant: string, user: string): Promise<void> {
  const { sql } = service
  await sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at)
    select ${tenant}, u.id, 7, now(), now() from app.users u where u.email = 'viewer@acme.test'`
  await sql`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at, bounced_at)
    select sha256((${tenant} || n)::bytea), 'invite', ${tenant}, 'invited' || n || '@shops.test', 7,
           now() + case when n between 3 and 5 then interval '-1 hour' else interval '1 day' end, case when n > 5 then now() end
      from generate_series(1, 9) n`
  await sql`
    insert into app.audit_log (tenant_id, action, target_type, occurred_at)
    select ${tenant}, case when n % 2 = 0 then 'session.sign_in_failed' else 'session.revoked' end, 'user', now() - n * interval '150 minutes'
      from generate_series(1, 40) n`
  await sql`
    with key as (
      insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key)
      values (${tenant}, 'vendor-credential', 'arn', '\\x00') returning id),
    account as (
      insert into app.vendor_accounts (tenant_id, vendor, account_number, status, data_key_id, sealed_secret)
      select ${tenant}, vendor, number, status, key.id, decode(repeat('00', 45), 'hex')
        from key, (values ('sanmar', '1', 'verified'), ('sanmar', '2', 'unverified'), ('ss-activewear', '3', 'verified')) a (vendor, number, status)
      returning id, vendor, account_number)
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, created_at, started_at, finished_at, error)
    select ${tenant}, a.vendor, a.id, case when r.error is null then 'succeeded' else 'failed' end, r.at, r.at, r.at, r.error
      from account a join (values ('1', now() - interval '2 days', 'vendor-rejected'), ('1', now() - interval '1 day', null),
                                  ('2', now() - interval '40 days', 'abandoned'), ('3', now() - interval '2 days', null),
                                  ('3', now() - interval '1 day', 'vendor-answer')) r (number, at, error) on r.number = a.account_number`
  await sql`
    insert into app.deals (tenant_id, number, customer_name, currency, status)
    select ${tenant}, n, 'Somebody', 'USD', (array['draft', 'quoted', 'quoted', 'won', 'lost'])[1 + n % 5] from generate_series(1, 50) n`
  await sql`
    insert into app.designs (tenant_id, name, approved_at, approved_by)
    select ${tenant}, 'Design', case when n > 11 then now() end, case when n > 11 then ${user}::uuid end from generate_series(1, 20) n`
}

it('counts what is in the tenant, and names the latest sync of each account that failed', async () => {
  const tenant = await service.newTenant('owner', 'viewer')
  const other = await service.newTenant('owner')
  await fill(tenant.id, tenant.owner.userId)
  await fill(other.id, other.owner.userId)
  const overview = await read(tenant.owner.token)
  expect(overview).toEqual({
    // And the founder.
    people: { members: 3, invited: 2, expired: 3, bounced: 4, failed_sign_ins: 4 },
    vendor_accounts: {
      connected: 3,
      unverified: 1,
      failed_syncs: [
        {
          id: expect.any(String),
          vendor: { code: 'ss-activewear', name: 'S&S Activewear' },
          error: 'vendor-answer',
          finished_at: expect.any(String),
        },
      ],
    },
    deals: { draft: 10, quoted: 20 },
    designs: { unapproved: 11 },
  })
})

it('tells each role what its permissions show, and nothing else', async () => {
  const tenant = await service.newTenant(...ROLES)
  await fill(tenant.id, tenant.owner.userId)
  const all = await read(tenant.owner.token)
  const parts = {
    people: 'member.manage',
    vendor_accounts: 'vendor.manage',
    deals: 'deal.read',
    designs: 'design.read',
  }
  expect(Object.keys(all).toSorted()).toEqual(Object.keys(parts).toSorted())
  for (const role of ROLES) {
    const { token } = tenant[role]
    const me = await service.request('GET /v1/auth/session', { token })
    const may = (permission: string) => me.body.permissions.some((each: string) => each === '*' || each === permission)
    const shown = Object.entries(parts).map(([part, permission]) => [part, may(permission) ? all[part] : null])
    expect(await read(token), role).toEqual(Object.fromEntries(shown))
  }
  const role = { code: 'helper', label: 'Helper', based_on: 'viewer', add: ['vendor.manage'] }
  await service.request('POST /v1/roles', { token: tenant.owner.token, body: role })
  const route = `PATCH /v1/members/${tenant.viewer.membershipId}`
  await service.request(route, { token: tenant.owner.token, body: { role: 'helper' } })
  const { people, vendor_accounts: vendors } = await read(tenant.viewer.token)
  expect({ people, vendors }).toEqual({ people: null, vendors: all.vendor_accounts })
})
