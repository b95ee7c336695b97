import type postgres from 'postgres'
import type { StackInfo } from '#infra/local/stack.ts'
import { type SignedIn, signInByApi } from './people.ts'

/** The shops that every page of a shop is shown in. */
export const SHOPS = ['ordinary', 'empty', 'many', 'long'] as const
export type ShopName = (typeof SHOPS)[number]

/** What the pages of a shop name in their addresses. An empty shop has only its owner. */
export interface Shop {
  readonly slug: string
  readonly owner: string
  readonly member: string
  readonly role: string | null
  readonly account: string | null
  readonly run: string | null
  readonly key: string | null
}

export const ownerOf = (shop: ShopName): string => (shop === 'long' ? LONG.email : `owner@${shop}.test`)
export const slugOf = (shop: ShopName): string => `${shop}-shop`

/** 60 characters, with words that are longer than a phone is wide. */
export const LONG = {
  email: 'maximiliane.von-hohenzollern-schwarzenberg@embroidery-and-printing-of-the-northwest.test',
  person: 'Maximiliane Hohenzollernschwarzenbergliechtenstein-Papadopou',
  shop: 'Incorporatedembroideryandscreenprintingcompany Northwest Ltd',
  role: 'Nightshiftembroiderymachineoperatorsupervisor and Apprentice',
  key: 'Nightlywarehousereplenishmentandinvoicesynchronization run 2',
  account: 'Wholesaledistributioncenterpacificnorthwest, second contract',
  number: '00001234-ABCDEFGHIJKLMNOPQRSTUVWXYZ-00001234-ABCDEFGHIJKLMNO',
} as const

/** The shop that asks its managers for a second step from a day on. */
export const ASKING = 'shop-8'

const NAMES: Readonly<Record<ShopName, string>> = {
  ordinary: 'Harbor Print',
  empty: 'Fresh Ink',
  many: 'Big River Apparel',
  long: LONG.shop,
}
const STATUSES: Readonly<Record<ShopName, string>> = {
  ordinary: 'active',
  empty: 'trial',
  many: 'past_due',
  long: 'active',
}

const MANY = 120

/** Makes the shops, with one of everything that their pages show. */
export async function makeShops(sql: postgres.Sql, stack: StackInfo): Promise<Readonly<Record<ShopName, Shop>>> {
  for (const shop of SHOPS) {
    await sql`insert into app.tenants (slug, legal_name, status) values (${slugOf(shop)}, ${NAMES[shop]}, ${STATUSES[shop]})`
    await addMember(sql, {
      email: ownerOf(shop),
      name: shop === 'long' ? LONG.person : 'Olivia Owner',
      slug: slugOf(shop),
    })
  }
  for (const [role, name] of [
    ['admin', 'Adam Admin'],
    ['sales', 'Sally Sales'],
    ['viewer', 'Vic Viewer'],
  ] as const)
    await addMember(sql, { email: `${role}@ordinary.test`, name, slug: slugOf('ordinary'), role })
  await addMember(sql, {
    email: `second.${LONG.email}`,
    name: `${LONG.person.slice(0, 58)} B`,
    slug: slugOf('long'),
    role: 'account',
  })
  await sql`
    with people as (
      insert into app.users (email, full_name)
      select 'person' || n || '@many.test',
             (array['Ann Archer', 'Bo Ödegård', 'Carmen García', 'Dmitri Volkov', 'Zoë O''Hara'])[1 + n % 5] || ' ' || n
        from generate_series(1, ${MANY}::int) n returning id)
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at)
    select t.id, p.id, 2 + row_number() over () % 6, now() - make_interval(hours => 7 * row_number() over ()::int),
           case when row_number() over () % 9 = 0 then now() end
      from app.tenants t, people p where t.slug = ${slugOf('many')}`
  return {
    ordinary: await furnish(sql, stack, { shop: 'ordinary', roles: ['Night shift'], label: null }),
    empty: { ...(await owned(sql, 'empty')), role: null, account: null, run: null, key: null },
    many: await furnish(sql, stack, {
      shop: 'many',
      roles: Array.from({ length: 9 }, (_, at) => `Team ${at + 1}`),
      label: 'Main account',
    }),
    long: await furnish(sql, stack, { shop: 'long', roles: [LONG.role], label: LONG.account }),
  }
}

/** Adds a person with the password of the seed. They are a member of the shop, if there is a slug. */
export async function addMember(
  sql: postgres.Sql,
  {
    email,
    name,
    slug,
    role = 'owner',
    verified = true,
  }: { email: string; name: string | null; slug?: string; role?: string; verified?: boolean },
): Promise<void> {
  await sql`
    insert into app.users (email, full_name, password_hash, email_verified_at)
    select ${email}, ${name}, u.password_hash, case when ${verified} then now() end from app.users u where u.email = 'owner@acme.test'`
  if (slug === undefined) return
  await sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
    select t.id, u.id, r.id, now() - interval '40 days' from app.tenants t, app.users u, app.roles r
     where t.slug = ${slug} and u.email = ${email} and r.code = ${role} and r.tenant_id is null`
}

async function owned(sql: postgres.Sql, shop: ShopName): Promise<Pick<Shop, 'slug' | 'owner' | 'member'>> {
  const [member] = await sql<{ id: string }[]>`
    select m.id from app.memberships m join app.tenants t on t.id = m.tenant_id join app.roles r on r.id = m.role_id
     where t.slug = ${slugOf(shop)} order by r.code = 'account' desc, r.code = 'sales' desc, m.created_at limit 1`
  return { slug: slugOf(shop), owner: ownerOf(shop), member: member?.id ?? '' }
}

/** Adds roles, invitations, a vendor account, syncs and entries of the audit log, as the owner does. */
async function furnish(
  sql: postgres.Sql,
  stack: StackInfo,
  { shop, roles, label }: { shop: ShopName; roles: readonly string[]; label: string | null },
): Promise<Shop> {
  const owner = await signInByApi(stack, ownerOf(shop))
  const made = await owned(sql, shop)
  const [first] = await Promise.all(
    roles.map((name, at) =>
      owner.call('POST /v1/roles', {
        body: { code: `own-${at + 1}`, label: name, based_on: 'viewer', add: ['deal.read', 'design.approve'] },
      }),
    ),
  )
  const account = await connect(stack, owner, label)
  await sql`update app.vendor_accounts set account_number = ${shop === 'long' ? LONG.number : '51234'} where id = ${account}`
  await owner.call('PATCH /v1/members/{id}', {
    params: { id: made.member },
    body: { role: shop === 'long' ? 'own-1' : 'designer' },
  })
  for (const email of shop === 'long'
    ? [`third.${LONG.email}`]
    : [`late@${shop}.test`, `lost@${shop}.test`, `new@${shop}.test`])
    await owner.call('POST /v1/members/invite', { body: { email, role: shop === 'long' ? 'own-1' : 'sales' } })
  await sql`update app.tokens set expires_at = now() - interval '1 day' where email = ${`late@${shop}.test`}`
  await sql`update app.tokens set bounced_at = now() where email = ${`lost@${shop}.test`}`
  const run = await addRun(sql, account, { status: 'succeeded', total: 320, read: 320 })
  const key = await addKeys(sql, owner, shop === 'long' ? LONG.key : 'Nightly export')
  if (shop === 'many') await multiply(sql, made.slug, account)
  return { ...made, role: String(first?.id), account, run, key }
}

const KEY_PERMISSIONS = ['catalog.read', 'deal.read', 'deal.write', 'design.read'] as const

/** Adds one live key, one that expires soon and whose previous secret still works, and one of each other state. Returns the first. */
async function addKeys(sql: postgres.Sql, { call }: SignedIn, name: string): Promise<string> {
  const create = (body: { name: string; permissions: (typeof KEY_PERMISSIONS)[number][] }) =>
    call('POST /v1/api-keys', { body })
  const { id } = await create({ name, permissions: [...KEY_PERMISSIONS] })
  const soon = await create({ name: 'Storefront', permissions: ['catalog.read'] })
  const expired = await create({ name: 'Old storefront', permissions: ['catalog.read'] })
  const revoked = await create({ name: 'Pushed by mistake', permissions: ['catalog.read'] })
  await call('POST /v1/api-keys/{id}/rotate', { params: { id: soon.id }, body: { overlap_seconds: 604_800 } })
  await call('DELETE /v1/api-keys/{id}', { params: { id: revoked.id } })
  await sql`update app.api_keys set last_used_at = now() - interval '3 hours' where id = ${id}`
  await sql`update app.api_keys set expires_at = now() + interval '8 days' where id = ${soon.id}`
  await sql`
    update app.api_keys set created_at = now() - interval '90 days', expires_at = now() - interval '1 day' where id = ${expired.id}`
  return id
}

async function connect({ vendors: [vendor] }: StackInfo, { call }: SignedIn, label: string | null): Promise<string> {
  const { code = '', account_number = '', secret = '' } = vendor ?? {}
  return (await call('POST /v1/vendor-accounts', { body: { vendor: code, label, account_number, secret } })).id
}

/** Fills the lists of a shop over the end of their first page. */
async function multiply(sql: postgres.Sql, slug: string, account: string): Promise<void> {
  await sql`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, invited_by, expires_at)
    select sha256(n::text::bytea), 'invite', m.tenant_id, 'invited' || n || '@many.test', 3 + n % 5, m.user_id, now() + make_interval(hours => n)
      from app.memberships m join app.tenants t on t.id = m.tenant_id, generate_series(1, ${MANY}::int) n
     where t.slug = ${slug} and m.role_id = 1`
  await sql`
    insert into app.vendor_accounts
      (tenant_id, vendor, label, account_number, status, verified_at, last_error, created_by, sealed_secret, data_key_id)
    select tenant_id, vendor, 'Branch ' || n, 'B-' || n, case when n % 3 = 0 then 'unverified' else 'verified' end,
           case when n % 3 > 0 then now() end, null, created_by, sealed_secret, data_key_id
      from app.vendor_accounts, generate_series(1, ${MANY}::int) n where id = ${account}`
  await sql`
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, created_at, started_at, finished_at, styles, variants, prices, added, withdrawn, error)
    select tenant_id, vendor, id, case when n % 7 = 0 then 'failed' else 'succeeded' end, at, at, at + interval '3 minutes', 3000 + n, 61000 + n,
           122000 + n, n % 40, n % 9, case when n % 7 = 0 then 'vendor-unreachable' end
      from app.vendor_accounts, generate_series(1, ${MANY}::int) n, lateral (select now() - make_interval(hours => 9 * n) as at) as begun
     where id = ${account}`
  await sql`
    insert into app.audit_log (tenant_id, occurred_at, actor_user_id, action, target_type, target_id, before, after)
    select a.tenant_id, a.occurred_at - make_interval(hours => 5 * n), a.actor_user_id, a.action, a.target_type, a.target_id, a.before, a.after
      from app.audit_log a join app.tenants t on t.id = a.tenant_id, generate_series(1, ${MANY}::int) n where t.slug = ${slug}`
}

/** A sync of an account, as it is at some time. A worker does not take it. */
export interface Run {
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed'
  readonly total?: number
  readonly read?: number
  readonly withheld?: number
  readonly unknown?: readonly string[]
  readonly error?: 'vendor-rejected'
}

export async function addRun(sql: postgres.Sql, account: string, run: Run): Promise<string> {
  const { status, total = null, read = 0, withheld = 0, unknown = [], error = null } = run
  const [row] = await sql<{ id: string }[]>`
    insert into app.sync_runs
      (tenant_id, vendor, vendor_account_id, status, started_by, created_at, started_at, finished_at, touched_at, total, position,
       styles, variants, prices, added, dearer, cheaper, withdrawn, withheld, unresolved, error)
    select tenant_id, vendor, id, ${status}, created_by, now() - interval '2 minutes', ${status === 'queued' ? null : sql`now()`},
           ${status === 'succeeded' || status === 'failed' ? sql`now()` : null}, now() + interval '1 day', ${total}, ${read},
           ${read}, ${read * 20}, ${read * 40}, ${read}, ${Math.floor(read / 4)}, ${Math.floor(read / 16)}, 0, ${withheld}, ${[...unknown]}, ${error}
      from app.vendor_accounts where id = ${account}
    returning id`
  return row?.id ?? ''
}
