-- Tenants: the customer companies, each with its own data.
set local role identity_owner;

create table app.tenants (
  id           uuid primary key default gen_random_uuid(),
  slug         text collate app.case_insensitive not null unique,
  legal_name   app.one_line not null check (length(legal_name) between 1 and 200),
  status       text not null default 'trial' check (status in ('trial', 'active', 'past_due', 'suspended', 'cancelled')),
  timezone     text not null default 'America/New_York',
  currency     text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
  settings     jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  suspended_at timestamptz,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  deleted_at   timestamptz,
  -- Since when the tenant may invite nobody, because too much of its mail came back (0019), and the first mail that counts.
  invitations_stopped_at   timestamptz,
  invitations_counted_from timestamptz not null default '-infinity',
  -- From when on managers, and everyone, need a two-factor session here. Null: not asked.
  second_factor_managers_from timestamptz,
  second_factor_everyone_from timestamptz,
  -- A deal refers to the currency of its tenant, which therefore cannot change after the first deal.
  unique (id, currency),
  constraint tenants_slug_is_url_safe check (slug collate "C" ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$')
);
-- Every role sees the planner's estimates, so a column that names somebody or holds a secret has no statistics. A unique index
-- needs none.
alter table app.tenants
  alter column slug set statistics 0,
  alter column legal_name set statistics 0;

select app.enforce_tenant('app.tenants', 'id');

-- SELECT … FOR NO KEY UPDATE requires UPDATE on some column. app.keep_an_owner (0006) takes that lock for a change of a member.
grant select, update (legal_name, timezone, currency, settings, updated_at) on app.tenants to identity_app;

-- The worker calls no vendor for a tenant that is not open.
grant select (id, status) on app.tenants to identity_worker;

-- Operators see every tenant. To reach any other row of a tenant, they set it first, as every other role does.
create policy operator_read on app.tenants for select to identity_operator using (true);
comment on policy operator_read on app.tenants is 'finds a tenant by its slug';
grant select (id, slug, legal_name, status, timezone, currency, suspended_at, created_at, deleted_at, invitations_stopped_at),
  insert (id, slug, legal_name, timezone, currency),
  update (status, suspended_at, updated_at, invitations_stopped_at, invitations_counted_from) on app.tenants to identity_operator;

create policy resolver_read on app.tenants for select to identity_resolver using (true);
comment on policy resolver_read on app.tenants is 'lists the tenants to select from';
grant select on app.tenants to identity_resolver;

-- SELECT … FOR SHARE requires UPDATE on some column. app.select_tenant (0007), app.enter_to_write (0008) and
-- app.accept_invitation (0024) take such locks.
create policy gate on app.tenants to identity_gate using (true);
comment on policy gate on app.tenants is 'checks the tenant of a session';
grant select, update (settings, invitations_stopped_at, updated_at, second_factor_managers_from, second_factor_everyone_from)
  on app.tenants to identity_gate;

-- Returns whether members may work in a tenant of this status. No other place lists the open statuses. Postgres inlines
-- this function, so a condition with it has the same cost and indexes as the list itself.
create function app.is_open(p_status text) returns boolean
  language sql immutable parallel safe
  return p_status in ('trial', 'active', 'past_due');
comment on function app.is_open is 'callers: identity_app, identity_worker, identity_operator, identity_resolver, identity_gate';

-- Returns whether somebody with these permissions counts as a manager for the second factor: who could let others in, redirect orders, or
-- switch the protection off.
create function app.is_manager(p_permissions jsonb) returns boolean
  language sql immutable parallel safe
  return p_permissions ?| array['*', 'member.manage', 'vendor.manage', 'company.write'];
comment on function app.is_manager is 'callers: identity_resolver, identity_gate';

-- Returns whom a tenant with these dates asks for a second factor: `none`, `managers` or `everyone`.
create function app.policy_of(p_managers_from timestamptz, p_everyone_from timestamptz) returns text
  language sql immutable parallel safe
  return case when p_everyone_from is not null then 'everyone' when p_managers_from is not null then 'managers' else 'none' end;
comment on function app.policy_of is 'callers: identity_app, identity_gate';

-- Returns from when on a tenant with these dates asks somebody with these permissions for a second factor, or null.
create function app.second_factor_from(p_managers_from timestamptz, p_everyone_from timestamptz, p_permissions jsonb) returns timestamptz
  language sql immutable parallel safe
  return case when app.is_manager(p_permissions) then p_managers_from else p_everyone_from end;
comment on function app.second_factor_from is 'callers: identity_resolver, identity_gate';

-- Returns whether it asks now. It is a part of what makes a session live.
create function app.asks_second_factor(p_managers_from timestamptz, p_everyone_from timestamptz, p_permissions jsonb) returns boolean
  language sql stable parallel safe
  return (app.second_factor_from(p_managers_from, p_everyone_from, p_permissions) <= now()) is true;
comment on function app.asks_second_factor is 'callers: identity_gate';

-- The class of each column (infra/data-classification.md).
comment on table app.tenants is
  'tenant: id, slug, legal_name, status, timezone, currency, settings, suspended_at, created_at, updated_at, deleted_at, '
  'invitations_stopped_at, invitations_counted_from, second_factor_managers_from, second_factor_everyone_from; '
  'kept: always, as the record of who did what';

select app.give('app.is_open', 'app.is_manager', 'app.policy_of', 'app.second_factor_from', 'app.asks_second_factor');
