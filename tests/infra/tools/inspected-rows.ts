import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'

/** Gives a tenant what operators look for: a dead-lettered job, a failed sync run, a bounced invitation, a data key. */
export async function withInspectedRows(admin: postgres.Sql, tenant: string): Promise<void> {
  await admin`
    insert into app.jobs (tenant_id, kind, payload, idempotency_key, dead_at, last_error)
    values (${tenant}, 'mail', '{"email": "somebody@example.test"}', ${randomUUID()}, now(), 'MessageRejected')`
  await admin`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at, bounced_at)
    select sha256(${randomUUID()}::text::bytea), 'invite', ${tenant}, 'somebody@example.test', id, now() + interval '7 days', now()
      from app.roles where tenant_id is null and code = 'sales'`
  await admin`
    with key as (
      insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key)
      values (${tenant}, 'vendor-credential', 'arn:aws:kms:us-east-1:000000000000:key/old', sha256('a')) returning id, tenant_id
    ), account as (
      insert into app.vendor_accounts (tenant_id, vendor, account_number, status, verified_at, sealed_secret, data_key_id)
      select tenant_id, 'ss-activewear', '4711', 'verified', now(), sha256('a') || sha256('b'), id from key
      returning id, tenant_id, vendor
    )
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, error, finished_at)
    select tenant_id, vendor, id, 'failed', 'vendor-answer', now() from account`
}
