import type postgres from 'postgres'
import { hashPassword, type Cost } from '#shared/password/argon2.ts'
import { seedStyles } from './seed-styles.ts'

export const SEED_PASSWORD = 'correct horse battery staple'

const ROLE_CODES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer'] as const
const SHOPS = [
  { slug: 'acme-print', legalName: 'Acme Print', status: 'active', domain: 'acme.test' },
  { slug: 'bolt-apparel', legalName: 'Bolt Apparel', status: 'trial', domain: 'bolt.test' },
] as const

interface SeedMembership {
  readonly email: string
  readonly slug: string
  readonly role: (typeof ROLE_CODES)[number]
}

/** Who works where in the seed. */
export const seedMemberships: readonly SeedMembership[] = [
  ...SHOPS.flatMap(({ slug, domain }) => ROLE_CODES.map((role) => ({ email: `${role}@${domain}`, slug, role }))),
  { email: 'both@shops.test', slug: 'acme-print', role: 'sales' },
  { email: 'both@shops.test', slug: 'bolt-apparel', role: 'viewer' },
]

/** Every account of the seed, also the one that belongs to no shop. */
export const seedEmails: readonly string[] = [
  ...new Set(seedMemberships.map(({ email }) => email)),
  'nobody@shops.test',
]

const nameOf = (email: string): string =>
  email
    .split(/[@.]/, 2)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')

/** Fills an empty database, as its superuser, in one transaction; does nothing when there is a tenant already. */
export async function seed(sql: postgres.Sql, cost: Cost): Promise<void> {
  const passwordHash = await hashPassword(SEED_PASSWORD, cost)
  await sql.begin(async (tx) => {
    const [tenant] = await tx`select from app.tenants limit 1`
    if (tenant !== undefined) return
    for (const { slug, legalName, status } of SHOPS) {
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
    for (const { brand, styleNumber, name, category, vendors } of seedStyles) {
      await tx`
        insert into app.styles (style_number, name, brand, category, vendors)
        values (${styleNumber}, ${name}, ${brand}, ${category}, ${`{${vendors.join(',')}}`}::text[])`
    }
  })
}
