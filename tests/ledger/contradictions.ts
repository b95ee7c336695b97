import type postgres from 'postgres'

/** Questions to the database that have no answer while every promise holds: what is wrong, and the query of its rows. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'a deal without an audit entry': `
    select d.id from app.deals d join app.tenants t on t.id = d.tenant_id and t.slug collate "C" like 'led-%'
     where not exists (select from app.audit_log a where a.target_id = d.id and a.action = 'deal.created')`,
  'an invitation without an audit entry': `
    select k.id from app.tokens k where k.purpose = 'invite' and k.email::text collate "C" like 'led-%'
       and not exists (select from app.audit_log a where a.target_id = k.id and a.action = 'invitation.created')`,
  'a vendor account without an audit entry': `
    select v.id from app.vendor_accounts v where v.label::text collate "C" like 'led-%'
       and not exists (select from app.audit_log a where a.target_id = v.id and a.action = 'vendor_account.created')`,
  'a sync run without an audit entry': `
    select r.id from app.sync_runs r join app.tenants t on t.id = r.tenant_id and t.slug collate "C" like 'led-%'
     where not exists (select from app.audit_log a where a.target_id = r.id and a.action = 'sync_run.created')`,
  'a published change without an event': `
    select a.id from app.audit_log a join app.event_actions p on p.action = a.action
      join app.tenants t on t.id = a.tenant_id and t.slug collate "C" like 'led-%'
     where not exists (select from app.events e where e.id = a.id)`,
  'an event without an audit entry': `
    select e.id from app.events e where not exists (select from app.audit_log a where a.id = e.id)`,
  'a deal whose number leaves a gap': `
    select d.id from (select id, number, row_number() over (partition by tenant_id order by number) as place from app.deals) d
     where d.number <> d.place`,
  'a member whose role is not that of the last change': `
    select m.id from app.memberships m join app.roles r on r.id = m.role_id
      join lateral (select a.after ->> 'role' as code from app.audit_log a
                     where a.target_id = m.id and a.action = 'membership.role_changed'
                     order by a.occurred_at desc limit 1) last on true
     where last.code <> r.code`,
  'a tenant whose name is not that of the last change': `
    select t.id from app.tenants t
      join lateral (select a.after ->> 'legal_name' as name from app.audit_log a
                     where a.target_id = t.id and a.action = 'tenant.changed' order by a.occurred_at desc limit 1) last on true
     where last.name <> t.legal_name`,
  'a live session of a removed member': `
    select s.id from app.sessions s join app.memberships m on m.user_id = s.user_id and m.tenant_id = s.tenant_id
     where s.revoked_at is null and m.revoked_at is not null`,
  'a session without the second factor that its user has': `
    select s.id from app.sessions s join app.factors f on f.user_id = s.user_id and f.created_at < s.created_at
     where s.second_factor_at is null`,
  'a user whose used recovery codes are not those of the audit log': `
    select t.user_id as id from app.tokens t where t.purpose = 'recovery_code' group by t.user_id
    having count(t.consumed_at) <> (select count(*) from app.audit_log a where a.target_id = t.user_id and a.action = 'user.recovery_code_used')`,
  'a user whose used recovery codes are not those that were mailed': `
    select t.user_id as id from app.tokens t where t.purpose = 'recovery_code' group by t.user_id
    having count(t.consumed_at) <> (select count(*) from app.jobs j where j.payload ->> 'user_id' = t.user_id::text
                                      and j.payload ->> 'change' in ('code-used', 'few-codes'))`,
  'a job that was given up': `select id from app.jobs where dead_at is not null`,
  'a sync run that never ended': `select id from app.sync_runs where status in ('queued', 'running')`,
  'a row of one tenant that refers to another': `
    select d.id from app.deals d join app.tenants t on t.id = d.tenant_id
     where d.customer_name::text collate "C" like 'led-%' and d.customer_name::text collate "C" not like replace(t.slug collate "C", 'shop', '') || '%'`,
}

/** Returns what contradicts itself in the database, with some ids of each. */
export async function contradictionsIn(sql: postgres.Sql): Promise<string[]> {
  const contradictions: string[] = []
  for (const [what, query] of Object.entries(QUESTIONS)) {
    const rows = await sql.unsafe<{ id: string }[]>(query)
    if (rows.length === 0) continue
    const ids = rows.slice(0, 3).map(({ id }) => id)
    contradictions.push(`${what}, ${rows.length} times: ${ids.join(', ')}`)
  }
  return contradictions
}
