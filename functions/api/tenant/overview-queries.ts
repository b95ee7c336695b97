import { MOST_FAILED_SIGN_INS } from '#shared/audit/most-failed-sign-ins.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { holds, type Permission } from '#shared/identity/permissions.ts'
import { timestampText } from '#shared/schema/timestamp.ts'
import { MOST_FAILED_SYNCS, type Overview } from './overview.ts'

/** Returns the overview of the transaction's tenant, in one statement. Reads no part for which the permission is missing. */
export async function findOverview(sql: TenantTransaction, permissions: readonly string[]): Promise<Overview> {
  const may = (permission: Permission) => holds(permissions, permission)
  const [row] = await sql<Overview>`
    select case when ${may('member.manage')} then (
             select json_build_object(
                      'members', (select count(*) from app.memberships m where m.accepted_at is not null and m.revoked_at is null),
                      'invited', count(*) filter (where i.bounced_at is null and i.expires_at > now()),
                      'expired', count(*) filter (where i.bounced_at is null and i.expires_at <= now()),
                      'bounced', count(i.bounced_at),
                      'failed_sign_ins', (
                        select count(*) from (
                          select from app.audit_log e
                           where (e.action, e.occurred_at) >= ('session.sign_in_failed', now() - interval '24 hours')
                             and (e.action, e.occurred_at) <= ('session.sign_in_failed', now())
                             and e.occurred_at >= now() - interval '24 hours' and e.occurred_at <= now()
                           limit ${MOST_FAILED_SIGN_INS}) as latest))
               from app.invitations i) end as people,
           case when ${may('vendor.manage')} then (
             select json_build_object(
                      'connected', count(*), 'unverified', count(*) filter (where a.status = 'unverified'),
                      'failed_syncs', (
                        select coalesce(json_agg(json_build_object(
                                 'id', f.id, 'vendor', json_build_object('code', v.code, 'name', v.name),
                                 'error', f.error, 'finished_at', f.finished_at) order by f.finished_at desc), '[]')
                          from (select l.*
                                  from (select distinct on (r.vendor_account_id)
                                               r.id, r.vendor, r.vendor_account_id, r.status, r.error, r.finished_at
                                          from app.sync_runs r
                                         where r.created_at > now() - interval '30 days'
                                         order by r.vendor_account_id, r.created_at desc, r.id desc) as l
                                  join app.vendor_accounts o on o.id = l.vendor_account_id and o.status <> 'revoked'
                                 where l.status = 'failed' order by l.finished_at desc limit ${MOST_FAILED_SYNCS}) as f
                          join app.vendors v on v.code = f.vendor))
               from app.vendor_accounts a where a.status <> 'revoked') end as vendor_accounts,
           case when ${may('deal.read')} then (
             select json_build_object('draft', count(*) filter (where d.status = 'draft'),
                                      'quoted', count(*) filter (where d.status = 'quoted'))
               from app.deals d where d.status in ('draft', 'quoted')) end as deals,
           case when ${may('design.read')} then (
             select json_build_object('unapproved', count(*)) from app.designs d where d.approved_at is null) end as designs`
  if (row === undefined) throw new Error('a statement without a FROM returned no row')
  const { vendor_accounts: vendors } = row
  return {
    ...row,
    vendor_accounts: vendors && {
      ...vendors,
      failed_syncs: vendors.failed_syncs.map(({ id, vendor, error, finished_at: at }) => ({
        id,
        vendor,
        error,
        finished_at: timestampText(at),
      })),
    },
  }
}
