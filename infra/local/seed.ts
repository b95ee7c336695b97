import type postgres from 'postgres'
import { storePage } from '#functions/workers/sync-catalog/store-page.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { priceOf } from '#shared/suppliers/vendor-catalog.ts'
import { seedStyles } from './seed-styles.ts'
import { localProducts } from './vendors/products.ts'

export const SEED_PASSWORD = 'correct horse battery staple'

const ROLE_CODES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer'] as const
const TENANTS = [
  { slug: 'acme-print', legalName: 'Acme Print', status: 'active', domain: 'acme.test' },
  { slug: 'bolt-apparel', legalName: 'Bolt Apparel', status: 'trial', domain: 'bolt.test' },
] as const

interface SeedMembership {
  readonly email: string
  readonly slug: string
  readonly role: (typeof ROLE_CODES)[number]
}

/** The memberships of the seed: one user per role and tenant, and one user in both tenants. */
export const seedMemberships: readonly SeedMembership[] = [
  ...TENANTS.flatMap(({ slug, domain }) => ROLE_CODES.map((role) => ({ email: `${role}@${domain}`, slug, role }))),
  { email: 'both@shops.test', slug: 'acme-print', role: 'sales' },
  { email: 'both@shops.test', slug: 'bolt-apparel', role: 'viewer' },
]

/** The users of the seed, including the one without a membership. */
export const seedEmails: readonly string[] = [
  ...new Set(seedMemberships.map(({ email }) => email)),
  'nobody@shops.test',
]

const nameOf = (email: string): string =>
  email
    .split(/[@.]/, 2)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')

/** The designs of each tenant, oldest first, with the files of each. */
const DESIGNS: Readonly<Record<string, readonly string[]>> = {
  'Team shirt, front': ['team-front.svg', 'team-front-white.svg'],
  'Cap badge': ['cap-badge.png'],
  'Holiday hoodie': [],
}

/** Inserts designs, each by the designer of the tenant. The first file of a design is its primary asset. */
async function seedDesigns(tx: postgres.TransactionSql, slug: string): Promise<void> {
  for (const [index, [name, files]] of Object.entries(DESIGNS).entries()) {
    const [design] = await tx<{ id: string }[]>`
      insert into app.designs (tenant_id, name, created_by, created_at)
      select m.tenant_id, ${name}, m.user_id, now() - make_interval(days => 30 - ${index})
        from app.memberships m join app.tenants t on t.id = m.tenant_id join app.roles r on r.id = m.role_id
       where t.slug = ${slug} and r.code = 'designer'
      returning id`
    for (const file of files) {
      await tx`
        insert into app.design_assets (tenant_id, design_id, file_name, media_type, size_bytes, sha256, is_primary)
        select tenant_id, id, ${file}, ${file.endsWith('.svg') ? 'image/svg+xml' : 'image/png'}, ${20_000 + index},
               encode(sha256(${file}::bytea), 'hex'), ${file === files[0]}
          from app.designs where id = ${design?.id ?? ''}`
    }
  }
}

const BREAKS = [
  { min_quantity: 12, unit_price: '9.7500' },
  { min_quantity: 48, unit_price: '7.9900' },
  { min_quantity: 144, unit_price: '6.4500' },
]

/** The deals of each tenant, oldest first: the customer, the status, and the quantities of two styles that have price breaks. */
const DEALS = [
  ['Riverside High School', 'won', [100, 0]],
  ['Harbor Brewing', 'quoted', [48, 24]],
  ['Northside Runners', 'draft', [12, 0]],
] as const

/** Inserts the price breaks of two of the platform's styles, and deals with lines, in the scope of the tenant. */
async function seedDeals(tx: postgres.TransactionSql, slug: string): Promise<void> {
  await tx`select app.set_tenant(id) from app.tenants where slug = ${slug}`
  await tx`
    insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price)
    select app.current_tenant(), s.id, s.scope, b.min_quantity, b.unit_price
      from app.styles s, json_to_recordset(${JSON.stringify(BREAKS)}::text::json) as b (min_quantity integer, unit_price numeric)
     where s.tenant_id is null and s.style_number in ('2000', '18000')`
  for (const [customer, status, quantities] of DEALS) {
    const [deal] = await tx<{ id: string }[]>`
      insert into app.deals (tenant_id, customer_name, status, currency, created_by)
      select t.id, ${customer}, ${status}, t.currency, m.user_id
        from app.tenants t join app.memberships m on m.tenant_id = t.id join app.roles r on r.id = m.role_id
       where t.slug = ${slug} and r.code = 'account'
      returning id`
    for (const [index, quantity] of quantities.filter((each) => each > 0).entries()) {
      await tx`
        insert into app.deal_lines
          (tenant_id, deal_id, position, style_id, style_scope, color, size_id, quantity, unit_price, price_source, currency)
        select app.current_tenant(), ${deal?.id ?? ''}, ${index + 1}, s.id, s.scope, 'Navy', 4, ${quantity},
               app.unit_price(s.id, ${quantity}), 'break', d.currency
          from app.deals d, app.styles s where d.id = ${deal?.id ?? ''} and s.tenant_id is null and s.style_number = ${index === 0 ? '2000' : '18000'}`
    }
  }
  await tx`select app.set_tenant(null)`
}

const SYNCED_PRODUCTS = 12

/** Inserts a finished sync run of each tenant, as if an account that is revoked by now had read the first products of a vendor. */
async function seedSyncRun(tx: postgres.TransactionSql, slug: string): Promise<void> {
  await tx`select app.set_tenant(id) from app.tenants where slug = ${slug}`
  const [run] = await tx<{ id: string; vendor: string; started_at: string }[]>`
    with account as (
      insert into app.vendor_accounts (tenant_id, vendor, label, account_number, status, created_by, revoked_at)
      select m.tenant_id, 'ss-activewear', 'Earlier account', '50000', 'revoked', m.user_id, now()
        from app.memberships m join app.roles r on r.id = m.role_id
       where m.tenant_id = app.current_tenant() and r.code = 'owner'
      returning *)
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, started_by, started_at)
    select tenant_id, vendor, id, 'running', created_by, now() from account
    returning id, vendor, started_at::text as started_at`
  if (run === undefined) throw new Error(`${slug} has no owner`)
  const styles = localProducts('ss-activewear', 2 * SYNCED_PRODUCTS)
    .slice(0, SYNCED_PRODUCTS)
    .map(({ style: { style_number: styleNumber, name, brand, category }, skus }) => ({
      styleNumber,
      name,
      brand,
      category,
      skus: skus.map(({ sku, color, size, price }) => ({
        sku,
        color,
        size: size.trim(),
        price: priceOf(price),
        currency: 'USD',
      })),
    }))
  await storePage(tx as unknown as TenantTransaction, run, { styles, position: 0, next: styles.length })
  await tx`update app.sync_runs set status = 'succeeded', finished_at = now() where id = ${run.id}`
  await tx`select app.set_tenant(null)`
}

/** Fills an empty database as its superuser, in one transaction. Does nothing if there is a tenant. */
export async function seed(sql: postgres.Sql, cost: Cost): Promise<void> {
  const passwordHash = await hashPassword(SEED_PASSWORD, cost)
  await sql.begin(async (tx) => {
    const [tenant] = await tx`select from app.tenants limit 1`
    if (tenant !== undefined) return
    for (const { slug, legalName, status } of TENANTS) {
      await tx`insert into app.tenants (slug, legal_name, status) values (${slug}, ${legalName}, ${status})`
    }
    for (const email of seedEmails) {
      await tx`
        insert into app.users (email, full_name, password_hash, email_verified_at)
        values (${email}, ${nameOf(email)}, ${passwordHash}, now())`
    }
    for (const { email, slug, role } of seedMemberships) {
      await tx`
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
        select t.id, u.id, r.id, now() from app.tenants t, app.users u, app.roles r
         where t.slug = ${slug} and u.email = ${email} and r.code = ${role}`
    }
    await tx`insert into app.styles ${tx(seedStyles())}`
    for (const { slug } of TENANTS) {
      await seedDesigns(tx, slug)
      await seedDeals(tx, slug)
      await seedSyncRun(tx, slug)
    }
  })
}
