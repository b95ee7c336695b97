-- Invitations and the other single-use tokens. What is stored is the hash alone; the raw token is derived, from a nonce in
-- the mail's job and a key that the database never sees, when the mail is sent.
set local role identity_owner;

alter table app.tokens
  add column id uuid not null default gen_random_uuid(),
  add column invited_by uuid references app.users,
  add constraint tokens_id_key unique (id),
  add constraint tokens_hold_what_their_purpose_needs check (
    case purpose
      when 'invite' then tenant_id is not null and email is not null and role_id is not null
      else user_id is not null and tenant_id is null and role_id is null
    end);
-- One open invitation for an address in a shop: inviting again replaces the token, under the same id.
create unique index tokens_one_open_invite on app.tokens (tenant_id, email) where purpose = 'invite' and consumed_at is null;
grant select, delete on app.tokens to identity_app;
grant insert (token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at) on app.tokens to identity_app;
grant update (token_hash, user_id, role_id, invited_by, expires_at, consumed_at) on app.tokens to identity_app;

-- The open invitations of the transaction's tenant. Tokens are exempt from row security, so what acts for a tenant reads
-- them through this view and no other way.
create view app.invitations with (security_invoker = true) as
select t.id, t.email, t.role_id, t.invited_by, t.user_id, t.created_at, t.expires_at
  from app.tokens t
 where t.purpose = 'invite' and t.consumed_at is null and t.tenant_id = app.current_tenant();
grant select on app.invitations to identity_app;

-- The pages of the member list.
create index memberships_by_age on app.memberships (tenant_id, created_at, id);

-- A shop that has an owner keeps one. The tenant is locked before counting, so that two owners who demote or remove each
-- other take turns, and the second finds itself the last.
create function app.keep_an_owner() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.role_id <> 1 or old.accepted_at is null or old.revoked_at is not null
     or (tg_op = 'UPDATE' and new.tenant_id = old.tenant_id and new.role_id = 1 and new.accepted_at is not null and new.revoked_at is null) then
    return null;
  end if;
  perform from app.tenants t where t.id = old.tenant_id for no key update;
  if not exists (select from app.memberships m where m.tenant_id = old.tenant_id and m.role_id = 1
                    and m.accepted_at is not null and m.revoked_at is null) then
    raise exception 'the last owner of a tenant' using errcode = 'TN409';
  end if;
  return null;
end
$$;
revoke all on function app.keep_an_owner() from public;
create trigger memberships_keep_an_owner after update or delete on app.memberships
  for each row execute function app.keep_an_owner();
