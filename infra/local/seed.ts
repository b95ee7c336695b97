import { readFileSync } from 'node:fs'
import type postgres from 'postgres'
import { type Cost, hashPassword } from '#shared/password/argon2.ts'

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

const FITS = [
  { suffix: '', label: '' },
  { suffix: 'L', label: 'Women’s ' },
  { suffix: 'B', label: 'Youth ' },
]
const ONE_FIT = new Set(['Headwear', 'Bags', 'Workwear'])

/** Returns the styles of seed-styles.csv, each in all its fits. */
const seedStyles = () =>
  readFileSync(new URL('./seed-styles.csv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [brand = '', number = '', name = '', category = '', vendors = ''] = line.split(',')
      return FITS.filter(({ suffix }) => suffix === '' || !ONE_FIT.has(category)).map(({ suffix, label }) => ({
        style_number: number + suffix,
        name: label + name,
        brand,
        category,
        vendors: vendors.split(' '),
      }))
    })

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
  })
}
