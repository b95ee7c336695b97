import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { newToken, hashToken } from '#shared/secret/secret.ts'
import { PEPPER } from './settings.ts'

export interface MintedSession {
  readonly id: string
  readonly token: string
}

/**
 * Inserts a live session as sign-in and select would, without their requests. A slug binds it to that tenant, even if
 * the user has no membership there.
 */
export async function mintSession(
  admin: postgres.Sql,
  { email, slug = null, token = newToken() }: { email: string; slug?: string | null; token?: string },
): Promise<MintedSession> {
  const [row] = await admin<{ id: string }[]>`
    insert into app.sessions
      (token_key, user_id, tenant_id, csrf_secret, ip_hash, user_agent, idle_expires_at, absolute_expires_at,
       stepped_up_at)
    select ${hashToken(PEPPER, token)}, u.id, (select t.id from app.tenants t where t.slug = ${slug}), ${randomBytes(32)},
           ${randomBytes(32)}, 'a test', now() + interval '10 minutes', now() + interval '7 days', now()
      from app.users u where u.email = ${email}
    returning id`
  if (row === undefined) throw new Error(`no user ${email}`)
  return { id: row.id, token }
}

/** The name of a test user with this address. A name has at most six digits in a row. */
export const nameOf = (email: string): string =>
  `Person ${email.split('@', 1)[0]?.slice(0, 50).replaceAll(/\d{7}/g, 'digits')}`

/** Creates a user without a password, with a live membership in the tenant of each slug. */
export async function createUser(
  admin: postgres.Sql,
  { email, role = 'owner', slugs = [] }: { email: string; role?: string; slugs?: readonly string[] },
): Promise<string> {
  const [user] = await admin<{ id: string }[]>`
    insert into app.users (email, full_name) values (${email}, ${nameOf(email)}) returning id`
  for (const slug of slugs) {
    await admin`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, ${user?.id ?? ''}, r.id, now() from app.tenants t, app.roles r
       where t.slug = ${slug} and r.code = ${role}`
  }
  return user?.id ?? ''
}

/** Creates an active tenant with a founder, an owner who stays: a tenant needs at least one. */
export async function createTenant(admin: postgres.Sql, slug: string): Promise<string> {
  const [tenant] = await admin<{ id: string }[]>`
    insert into app.tenants (slug, legal_name, status) values (${slug}, ${`Shop ${slug}`}, 'active') returning id`
  await createUser(admin, { email: `founder@${slug}.test`, slugs: [slug] })
  return tenant?.id ?? ''
}

export async function tenantId(admin: postgres.Sql, slug: string): Promise<string> {
  const [tenant] = await admin<{ id: string }[]>`select id from app.tenants where slug = ${slug}`
  if (tenant === undefined) throw new Error(`no tenant ${slug}`)
  return tenant.id
}

/** A live member of a tenant, with a session there. */
export interface TestMember extends MintedSession {
  readonly userId: string
  readonly membershipId: string
}

/** Creates a live member of the tenant, with a session there. */
export async function createMember(
  admin: postgres.Sql,
  { email, role = 'owner', slug }: { email: string; role?: string; slug: string },
): Promise<TestMember> {
  const userId = await createUser(admin, { email, role, slugs: [slug] })
  const [membership] = await admin<{ id: string }[]>`select id from app.memberships where user_id = ${userId}`
  return { ...(await mintSession(admin, { email, slug })), userId, membershipId: membership?.id ?? '' }
}

let tenants = 0

export type TestTenant<Role extends string> = { readonly slug: string; readonly id: string } & Readonly<
  Record<Role, TestMember>
>

/** Creates an active tenant with a founder, and a member for each of these roles: `sales@SLUG.test` and so on. */
export async function createTenantWith<Role extends string>(
  admin: postgres.Sql,
  ...roles: readonly Role[]
): Promise<TestTenant<Role>> {
  tenants += 1
  const slug = `tenant-${tenants}`
  const id = await createTenant(admin, slug)
  const members = await Promise.all(
    roles.map(async (role) => [role, await createMember(admin, { email: `${role}@${slug}.test`, role, slug })]),
  )
  return { slug, id, ...Object.fromEntries(members) }
}
