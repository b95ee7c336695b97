-- The sync runs: each reads the products and prices of one vendor with one of the tenant's own vendor accounts.
set local role identity_owner;

create table app.sync_runs (
  id                uuid primary key default gen_random_uuid(),
  tenant_id         uuid not null references app.tenants,
  vendor            text not null references app.vendors,
  vendor_account_id uuid not null,
  status            text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed')),
  started_by        uuid default app.current_actor() references app.users,
  created_at        timestamptz not null default now(),
  started_at        timestamptz,
  finished_at       timestamptz,
  -- When a worker last took the run or stored a page of it, and how often it was taken since then without a page.
  touched_at        timestamptz not null default now(),
  takes             smallint not null default 0,
  -- The vendor's ids of the products to read, in the vendor's order, and how many of them were read. `total` stays when the run ends.
  products          text[],
  total             integer,
  position          integer not null default 0,
  -- How many rows this run read.
  styles            integer not null default 0,
  variants          integer not null default 0,
  prices            integer not null default 0,
  unresolved        text[] not null default '{}',
  unresolved_sizes  integer not null generated always as (cardinality(unresolved)) stored,
  -- How many SKUs it found that the catalog did not have, and how many prices it raised and lowered.
  added             integer not null default 0,
  dearer            integer not null default 0,
  cheaper           integer not null default 0,
  -- How many SKUs it withdrew, or found gone and kept because they are most of all. Whether it may withdraw most of all.
  withdrawn         integer not null default 0,
  withheld          integer not null default 0,
  withdraw_most     boolean not null default false,
  error             text check (error in ('vendor-rejected', 'vendor-unreachable', 'vendor-answer', 'kms-unavailable', 'abandoned')),
  constraint sync_runs_account_of_vendor
    foreign key (vendor_account_id, tenant_id, vendor) references app.vendor_accounts (id, tenant_id, vendor),
  check ((status = 'failed') = (error is not null)),
  check ((status in ('succeeded', 'failed')) = (finished_at is not null)),
  check (status in ('queued', 'failed') or started_at is not null)
);
create unique index sync_runs_one_active on app.sync_runs (tenant_id, vendor) where status in ('queued', 'running');
create index sync_runs_by_age on app.sync_runs (tenant_id, created_at, id);
select app.enforce_tenant('app.sync_runs');
grant select, insert (tenant_id, vendor, vendor_account_id, withdraw_most), update (status, finished_at, error)
  on app.sync_runs to identity_app;
grant select,
  update (status, started_at, finished_at, touched_at, takes, products, total, position, styles, variants, prices, unresolved, added, dearer, cheaper, withdrawn,
    withheld, error)
  on app.sync_runs to identity_worker;

-- The class of each column (infra/data-classification.md).
comment on table app.sync_runs is
  'linked: started_by; tenant: id, tenant_id, vendor, vendor_account_id, status, created_at, started_at, finished_at, touched_at, takes, '
  'products, total, position, styles, variants, prices, unresolved, unresolved_sizes, added, dearer, cheaper, withdrawn, withheld, withdraw_most, error; '
  'kept: always';
