-- Replies to requests that carried an Idempotency-Key, so that a retry gets the first reply and changes nothing. The transaction of
-- the request stores its reply: both commit, or neither does.
set local role identity_owner;

create table app.replies (
  id           uuid primary key default gen_random_uuid(),
  tenant_id    uuid not null references app.tenants,
  -- The user or the API key that sent the request.
  actor_id     uuid default app.current_actor(),
  -- Keyed hashes: of the key, and of the route, the path and the body.
  key_hash     bytea not null check (length(key_hash) = 32),
  request_hash bytea not null check (length(request_hash) = 32),
  -- Status, headers and body as JSON. Text keeps the order of the fields.
  reply        text not null check (length(reply) <= 1000000),
  created_at   timestamptz not null default now()
);
alter table app.replies alter column reply set statistics 0;
create index replies_by_key on app.replies (tenant_id, actor_id, key_hash, created_at);
create index replies_by_age on app.replies (created_at);
select app.enforce_tenant('app.replies');
grant select, insert (tenant_id, key_hash, request_hash, reply) on app.replies to identity_app;

-- Deletes up to p_batch replies that no retry gets any more, and returns how many.
create function app.delete_old_replies(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.replies where id = any (array(
    select r.id from app.replies r where r.created_at < now() - interval '24 hours' order by r.created_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_replies is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes what has expired in all tenants';
grant select (id, created_at), delete on app.replies to identity_gate;
create policy gate_expired on app.replies to identity_gate using (created_at < now() - interval '24 hours');
comment on policy gate_expired on app.replies is 'deletes the replies that expired';
select app.give('app.delete_old_replies');

-- The class of each column (infra/data-classification.md).
comment on table app.replies is
  'personal: reply; linked: tenant_id, actor_id, key_hash, request_hash; platform: id, created_at; '
  'kept: 24 hours, by app.delete_old_replies';
