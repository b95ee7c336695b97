-- The schema of the service. Its owner runs it.
create schema orders authorization orders_owner;
set role orders_owner;
grant usage on schema orders to orders_app;

create table orders.orders (
  id         uuid primary key default gen_random_uuid(),
  tenant_id  uuid not null default app.current_tenant(),
  title      text not null check (length(title) between 1 and 200),
  created_by uuid not null default app.current_actor(),
  created_at timestamptz not null default now()
);
create index orders_by_age on orders.orders (tenant_id, created_at desc, id);
select app.enforce_tenant('orders.orders');
grant select, insert (id, title), delete on orders.orders to orders_app;
reset role;
