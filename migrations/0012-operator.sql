-- What operators may do beside the routes: open a shop, change its status, disable a person. They see which shops there are
-- and who works where, and act in one shop at a time like everybody else; they read no password, token or secret.
set local role identity_owner;

create policy operator_read on app.tenants for select to identity_operator using (true);
create policy operator_read on app.memberships for select to identity_operator using (true);
grant select (id, slug, legal_name, status, timezone, currency, suspended_at, created_at, deleted_at),
  insert (id, slug, legal_name, timezone, currency), update (status, suspended_at) on app.tenants to identity_operator;
grant select (id, email, full_name, disabled_at), update (disabled_at) on app.users to identity_operator;
grant select, insert (tenant_id, user_id, role_id) on app.memberships to identity_operator;
grant select on app.roles to identity_operator;
grant select (id, user_id, tenant_id, revoked_at), update (revoked_at) on app.sessions to identity_operator;
grant select (id, purpose, tenant_id, email, consumed_at), insert (token_hash, purpose, user_id, tenant_id, email, role_id, expires_at),
  update (token_hash, expires_at) on app.tokens to identity_operator;
grant insert (tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)
  on app.audit_log to identity_operator;
grant execute on function app.lock_user(uuid) to identity_operator;

-- Tokens are exempt from row security, and whoever may write any token may plant the reset token of any account. So what
-- an operator writes there can only be an invitation into the tenant that is set.
create function app.operators_write_invitations() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if new.purpose = 'invite' and new.tenant_id = app.current_tenant() then
    return new;
  end if;
  raise exception 'an operator writes invitations of the tenant that is set' using errcode = '42501';
end
$$;
revoke all on function app.operators_write_invitations() from public;
create trigger tokens_operators_write_invitations before insert or update on app.tokens
  for each row when (current_user = 'identity_operator') execute function app.operators_write_invitations();
