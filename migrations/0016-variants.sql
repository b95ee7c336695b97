-- The variants of styles: their colors and sizes, each vendor's SKU of a variant, and the prices that a tenant pays.
--
-- A variant of a tenant may belong to a style of the platform. So a key is (scope, id) here: `scope` is the tenant, or zeros for
-- the platform. A row refers to rows of its own tenant or of the platform, never of another tenant.
set local role identity_owner;

create table app.variants (
  id          uuid primary key default gen_random_uuid(),
  tenant_id   uuid references app.tenants,
  scope       uuid not null generated always as (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) stored,
  style_id    uuid not null,
  style_scope uuid not null,
  -- Null where the vendor names none.
  color       app.one_line check (length(color) between 1 and 60),
  -- Null for a size that does not resolve. `vendor_size` is the text of the vendor that was read first.
  size_id     smallint references app.sizes,
  vendor_size app.one_line check (length(vendor_size) between 1 and 60),
  unresolved  text generated always as (case when size_id is null then vendor_size end) stored,
  constraint variants_style_of_tenant check (style_scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')),
  constraint variants_style foreign key (style_scope, style_id) references app.styles (scope, id),
  unique (scope, id),
  -- Texts that resolve to one size are one variant.
  constraint variants_once unique nulls not distinct (tenant_id, style_id, color, size_id, unresolved)
);
create index variants_by_style on app.variants (style_id);
select app.enforce_tenant('app.variants', p_system_rows => true);
grant select on app.variants to identity_app, identity_worker;
grant insert (id, tenant_id, style_id, style_scope, color, size_id, vendor_size) on app.variants to identity_worker;

create table app.variant_skus (
  id            uuid primary key default gen_random_uuid(),
  tenant_id     uuid references app.tenants,
  variant_id    uuid not null,
  variant_scope uuid not null,
  vendor        text not null references app.vendors,
  sku           app.one_line not null check (length(sku) between 1 and 64),
  -- When the latest sync run began that found it in the vendor's list.
  synced_at     timestamptz,
  constraint variant_skus_variant_of_tenant
    check (variant_scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')),
  constraint variant_skus_variant foreign key (variant_scope, variant_id) references app.variants (scope, id),
  constraint variant_skus_one_per_vendor unique nulls not distinct (tenant_id, variant_id, vendor),
  constraint variant_skus_one_variant unique nulls not distinct (tenant_id, vendor, sku)
);
create index variant_skus_by_variant on app.variant_skus (variant_id);
select app.enforce_tenant('app.variant_skus', p_system_rows => true);
grant select on app.variant_skus to identity_app, identity_worker;
grant insert (tenant_id, variant_id, variant_scope, vendor, sku, synced_at), update (synced_at), delete on app.variant_skus to identity_worker;

-- The latest price of each vendor for each variant.
create table app.vendor_prices (
  tenant_id     uuid not null references app.tenants,
  variant_id    uuid not null,
  variant_scope uuid not null,
  vendor        text not null references app.vendors,
  -- The range excludes NaN, which is greater than every number.
  unit_price    numeric(14, 4) not null check (unit_price between 0 and 9999999999.9999),
  currency      text not null check (currency ~ '^[A-Z]{3}$'),
  synced_at     timestamptz not null,
  primary key (tenant_id, variant_id, vendor),
  constraint vendor_prices_variant_of_tenant
    check (variant_scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')),
  constraint vendor_prices_variant foreign key (variant_scope, variant_id) references app.variants (scope, id)
);
select app.enforce_tenant('app.vendor_prices');
grant select on app.vendor_prices to identity_app, identity_worker;
grant insert, update (unit_price, currency, synced_at), delete on app.vendor_prices to identity_worker;

-- A sync reads and writes these too.
grant select, insert (tenant_id, style_number, name, brand, category, vendors, listed), update (vendors, listed, withdrawn_at)
  on app.styles to identity_worker;
grant select on app.sizes, app.size_aliases to identity_worker;

-- The planner keeps statistics of these: see migrations/README.md.
comment on column app.variants.color is 'statistics: a color names neither a tenant nor a person';
comment on column app.variants.vendor_size is 'statistics: a size names neither a tenant nor a person';
comment on column app.variant_skus.sku is 'statistics: a vendor gives the same SKU to everybody';

-- The class of each column (infra/data-classification.md).
comment on table app.variants is
  'tenant: id, tenant_id, scope, style_id, style_scope, color, size_id, vendor_size, unresolved; '
  'kept: always';
comment on table app.variant_skus is
  'tenant: id, tenant_id, variant_id, variant_scope, vendor, sku, synced_at; '
  'kept: until its vendor withdraws it';
comment on table app.vendor_prices is
  'tenant: tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at; '
  'kept: until its vendor withdraws it';
