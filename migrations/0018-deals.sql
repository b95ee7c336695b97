-- The deals of each tenant with their lines, and the prices of styles by quantity. Money is numeric: no float8 holds it, and
-- only Postgres computes with it. round() of a numeric rounds half away from zero. A total has the decimals of its currency.
set local role identity_owner;

-- An amount of money, with the decimals of its currency. The range excludes NaN and infinity.
create domain app.amount as numeric constraint amount_check check (value > -1e12 and value < 1e12);

-- Returns the number of decimals of an amount in a currency: the minor unit of ISO 4217 (list one of 2024-06-25, published by SIX),
-- and 2 for a currency without one.
create function app.minor_unit(p_currency text) returns integer
  language sql immutable parallel safe
  return case
    when p_currency in ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF',
                        'XPF') then 0
    when p_currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 3
    when p_currency in ('CLF', 'UYW') then 4
    else 2 end;
comment on function app.minor_unit is 'callers: identity_app';

-- The unit price of a style from a quantity on. style_scope says whose style it is: the tenant's own, or the platform's.
create table app.price_breaks (
  tenant_id    uuid not null references app.tenants,
  style_id     uuid not null,
  style_scope  uuid not null,
  min_quantity integer not null check (min_quantity between 1 and 1000000),
  -- The range excludes NaN, which is greater than every number.
  unit_price   numeric(14, 4) not null check (unit_price between 0 and 9999999999.9999),
  primary key (tenant_id, style_id, min_quantity),
  constraint price_breaks_style_of_tenant
    check (style_scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')),
  constraint price_breaks_style foreign key (style_scope, style_id) references app.styles (scope, id)
);
select app.enforce_tenant('app.price_breaks');
grant select, insert, delete on app.price_breaks to identity_app;

-- Returns the unit price of a style for a quantity: that of the break with the greatest min_quantity that the quantity reaches.
-- Returns null when it reaches none. Raises TN500 without a tenant, and the CASE makes sure of it: a condition of an empty
-- table is never evaluated.
create function app.unit_price(p_style_id uuid, p_quantity bigint) returns numeric
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return case when app.required_tenant() is not null then (
    select b.unit_price from app.price_breaks b
     where b.tenant_id = (select app.current_tenant()) and b.style_id = p_style_id and b.min_quantity <= p_quantity
     order by b.min_quantity desc
     limit 1) end;
end
$$;
comment on function app.unit_price is 'callers: identity_app';

-- The last number that a deal of the tenant got. A deleted deal does not free its number.
create table app.deal_counters (
  tenant_id   uuid primary key references app.tenants,
  last_number integer not null check (last_number > 0)
);
select app.enforce_tenant('app.deal_counters');
grant select, insert, update (last_number) on app.deal_counters to identity_app;

-- Returns the next number of a deal: 1, 2, 3 and so on in each tenant. Locks the counter until the transaction ends, so that a
-- rolled-back transaction leaves no gap and no two transactions get one number. Raises TN500 without a tenant.
create function app.next_deal_number() returns integer
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_number integer;
begin
  insert into app.deal_counters as c (tenant_id, last_number) values (app.required_tenant(), 1)
  on conflict (tenant_id) do update set last_number = c.last_number + 1
  returning c.last_number into v_number;
  return v_number;
end
$$;
comment on function app.next_deal_number is 'callers: identity_app';

create table app.deals (
  id            uuid primary key default gen_random_uuid(),
  tenant_id     uuid not null references app.tenants,
  -- identity_app may not write it: a deal gets its number from the function alone. Without a tenant, row security refuses the row.
  number        integer not null default case when app.current_tenant() is not null then app.next_deal_number() end,
  customer_name app.one_line not null check (length(customer_name) between 1 and 200),
  status        text not null default 'draft' check (status in ('draft', 'quoted', 'won', 'lost')),
  currency      text not null,
  -- The user, or the API key (0027).
  created_by    uuid default app.acting_user() references app.users,
  created_by_key uuid default app.acting_key(),
  -- Not now(): this is the time after the lock on the counter, so that deals have the same order by time and by number.
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  -- A line refers to the currency of its deal.
  unique (id, tenant_id, currency),
  constraint deals_one_creator check (created_by is null or created_by_key is null),
  constraint deals_number unique (tenant_id, number),
  constraint deals_currency foreign key (tenant_id, currency) references app.tenants (id, currency)
);
create index deals_by_age on app.deals (tenant_id, created_at, id);
-- For the overview: the deals that nobody has won or lost yet.
create index deals_open on app.deals (tenant_id, status) where status in ('draft', 'quoted');
select app.enforce_tenant('app.deals');
grant select, insert (tenant_id, customer_name, currency), update (customer_name, status, updated_at)
  on app.deals to identity_app;

create table app.deal_lines (
  id           uuid primary key default gen_random_uuid(),
  tenant_id    uuid not null references app.tenants,
  deal_id      uuid not null,
  position     smallint not null check (position between 1 and 200),
  style_id     uuid not null,
  style_scope  uuid not null,
  color        app.one_line check (length(color) between 1 and 60),
  size_id      smallint references app.sizes,
  quantity     integer not null check (quantity between 1 and 1000000),
  unit_price   numeric(14, 4) not null check (unit_price between 0 and 9999999999.9999),
  price_source text not null check (price_source in ('break', 'manual')),
  currency     text not null,
  total        app.amount not null generated always as (round(quantity * unit_price, app.minor_unit(currency))) stored,
  unique (tenant_id, deal_id, position),
  constraint deal_lines_deal foreign key (deal_id, tenant_id, currency) references app.deals (id, tenant_id, currency),
  constraint deal_lines_style_of_tenant
    check (style_scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')),
  constraint deal_lines_style foreign key (style_scope, style_id) references app.styles (scope, id)
);
select app.enforce_tenant('app.deal_lines');
grant select, insert (tenant_id, deal_id, position, style_id, style_scope, color, size_id, quantity, unit_price, price_source, currency), delete
  on app.deal_lines to identity_app;

-- No statistics: see app.tenants.
alter table app.deals alter column customer_name set statistics 0;

select app.grant_permission('deal.read',        'owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer');
select app.grant_permission('deal.write',       'admin', 'sales', 'account');
select app.grant_permission('deal.price.read',  'admin', 'sales', 'account');
select app.grant_permission('deal.price.write', 'admin', 'sales');

comment on column app.deal_lines.color is 'statistics: a color names neither a tenant nor a person';

-- The class of each column (infra/data-classification.md).
comment on table app.price_breaks is
  'tenant: tenant_id, style_id, style_scope, min_quantity, unit_price; '
  'kept: until it is replaced';
comment on table app.deal_counters is
  'tenant: tenant_id, last_number; '
  'kept: always';
comment on table app.deals is
  'personal: customer_name; linked: created_by, created_by_key; tenant: id, tenant_id, number, status, currency, created_at, updated_at; '
  'kept: always';
comment on table app.deal_lines is
  'tenant: id, tenant_id, deal_id, position, style_id, style_scope, color, size_id, quantity, unit_price, price_source, currency, total; '
  'kept: until it is replaced';

select app.give('app.minor_unit', 'app.unit_price', 'app.next_deal_number');
