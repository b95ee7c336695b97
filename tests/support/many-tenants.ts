import type postgres from 'postgres'

/** The size of a database. The tenant under test has `members` members in any size. */
export interface ManyTenants {
  readonly tenants: number
  readonly users: number
  readonly memberships: number
  readonly members: number
}

/**
 * Fills a database with tenants whose members are spread over all users. Returns the id of the tenant under test: its
 * oldest member is the owner, every tenth is revoked, and every tenth is invited, with the id of the invitation.
 */
export async function fillManyTenants(sql: postgres.Sql, shape: ManyTenants): Promise<string> {
  const { tenants, users, memberships, members } = shape
  const perTenant = Math.round((memberships - members) / (tenants - 1))
  await sql`
    insert into app.tenants (slug, legal_name, status)
    select 'many-' || n, 'Tenant ' || n, 'active' from generate_series(1, ${tenants}::int) n`
  await sql`
    insert into app.users (email, full_name, email_verified_at)
    select 'person' || n || '@many.test', 'Person ' || n, now() from generate_series(1, ${users}::int) n`
  await sql`
    with tenant as (select id, slug, row_number() over (order by id) - 1 as n from app.tenants where legal_name like 'Tenant %'),
         person as (select id, row_number() over (order by id) - 1 as n from app.users where full_name like 'Person %')
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at, created_at)
    select tenant.id, person.id, case when j = 0 then 1 else 2 + j % 6 end,
           case when j % 10 <> 3 then now() end, case when j % 10 = 7 then now() end,
           now() - make_interval(days => 100) + make_interval(mins => tenant.n::int, secs => j)
      from tenant
      cross join lateral generate_series(0, case when tenant.slug = 'many-1' then ${members}::int else ${perTenant}::int end - 1) j
      join person on person.n = (tenant.n * 7 + j * 11) % ${users}::int`
  await sql`
    insert into app.tokens (id, token_hash, purpose, tenant_id, email, role_id, expires_at, created_at)
    select m.id, sha256(m.id::text::bytea), 'invite', m.tenant_id, u.email, m.role_id, now() + interval '7 days', m.created_at
      from app.memberships m join app.users u on u.id = m.user_id where m.accepted_at is null`
  await sql`update app.memberships set invitation_id = id where accepted_at is null`
  const [tenant] = await sql<{ id: string }[]>`select id from app.tenants where slug = 'many-1'`
  return tenant?.id ?? ''
}
