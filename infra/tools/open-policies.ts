import type postgres from 'postgres'

/** A permissive policy that does not compare the tenant, for a role other than the guard's. */
export interface OpenPolicy {
  readonly table: string
  readonly policy: string
  readonly role: string
  /** Why, as its comment says. Null without one. */
  readonly why: string | null
}

/** Returns the open policies of the schema `app`, by table and name. Requires that the database has all migrations. */
export const readOpenPolicies = async (sql: postgres.Sql): Promise<OpenPolicy[]> => sql<OpenPolicy[]>`
  select c.relname as "table", p.polname as policy, role.oid::regrole::text as role, obj_description(p.oid, 'pg_policy') as why
    from pg_policy p
    join pg_class c on c.oid = p.polrelid and c.relnamespace = 'app'::regnamespace,
         unnest(p.polroles) as role(oid)
   where p.polpermissive
     and coalesce(pg_get_expr(p.polqual, p.polrelid), '') || coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '')
         not like '%current_tenant%'
   order by c.relname collate "C", p.polname collate "C", role`
