-- The catalog: the platform's styles, which every tenant reads, each tenant's own styles, and the sizes with their aliases.
set local role identity_owner;

create table app.styles (
  id           uuid primary key default gen_random_uuid(),
  tenant_id    uuid references app.tenants,
  -- The tenant, or zeros for a style of the platform: a foreign key cannot lead to a null.
  scope        uuid not null generated always as (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) stored,
  style_number text collate app.case_insensitive not null check (length(style_number) between 1 and 40),
  name         text not null check (length(name) between 1 and 200),
  brand        text not null check (length(brand) between 1 and 100),
  category     text not null check (length(category) between 1 and 100),
  vendors      text[] not null default '{}',
  -- By vendor: when the latest sync run of the tenant began that found the style in the vendor's list.
  listed       jsonb not null default '{}',
  -- Since when no vendor lists it any more. It is not offered then, and stays for the deals that have it.
  withdrawn_at timestamptz,
  search       tsvector generated always as
                 (to_tsvector('english', name || ' ' || brand || ' ' || category || ' ' || (style_number collate "C"))) stored,
  unique nulls not distinct (tenant_id, brand, style_number),
  unique (scope, id)
);
create index styles_by_number on app.styles (scope, style_number collate "C", id);
-- No statistics: see app.tenants.
alter table app.styles
  alter column style_number set statistics 0,
  alter column name set statistics 0;

select app.enforce_tenant('app.styles', p_system_rows => true);
grant select on app.styles to identity_app;

-- Returns up to p_most styles of the platform and of the tenant of the transaction after a position, by number, without withdrawn ones:
-- all, or those that contain all words of p_words or whose number in lower case is like p_part. It has the rights of its caller, so the policies apply.
-- It reads a page of the platform's styles and one of the tenant's, each in the order of the index, and merges them. With sorting on,
-- Postgres would often read all styles of both.
create function app.search_styles(p_words text, p_part text, p_after text, p_after_id uuid, p_most integer)
  returns table (id uuid, style_number text, name text, brand text, category text, vendors jsonb)
  language plpgsql stable rows 50
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_sort = off
  as $$
#variable_conflict use_column
begin
  return query
    select found.*
      from unnest(array['00000000-0000-0000-0000-000000000000', app.current_tenant()]::uuid[]) as read (scope)
      cross join lateral (
        select s.id, s.style_number collate "C" as style_number, s.name, s.brand, s.category, to_jsonb(s.vendors)
          from app.styles s
         where s.scope = read.scope and s.withdrawn_at is null and (s.style_number collate "C", s.id) > (p_after, p_after_id)
           and (p_words is null or s.search @@ (select websearch_to_tsquery('english', p_words))
                or lower(s.style_number collate "C") like p_part)
         order by s.style_number collate "C", s.id
         limit p_most) found
     order by found.style_number, found.id
     limit p_most;
end
$$;
comment on function app.search_styles is 'callers: identity_app';

create table app.sizes (
  id       smallint primary key,
  code     text not null unique,
  position smallint not null unique
);
create table app.size_aliases (
  alias   text collate app.case_insensitive primary key,
  size_id smallint not null references app.sizes
);
grant select on app.sizes, app.size_aliases to identity_app;

-- Returns the id of the size with this alias, or null for an unknown alias. Letter case and surrounding blanks do not matter.
create function app.resolve_size(p_alias text) returns smallint
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return (select a.size_id from app.size_aliases a where a.alias = btrim(p_alias, E' \t\r\n\u00a0'));
end
$$;
comment on function app.resolve_size is 'callers: identity_app, identity_worker';

insert into app.sizes (id, code, position) values
  (1, 'XS', 1), (2, 'S', 2), (3, 'M', 3), (4, 'L', 4), (5, 'XL', 5), (6, '2XL', 6), (7, '3XL', 7), (8, '4XL', 8),
  (9, '5XL', 9), (10, '6XL', 10), (11, 'OSFA', 11);
insert into app.size_aliases (alias, size_id)
select a, s.id
from (values
  ('XS',   array['XS', 'X-SMALL', 'XSMALL', 'EXTRA SMALL']),
  ('S',    array['S', 'SM', 'SML', 'SMALL']),
  ('M',    array['M', 'MD', 'MED', 'MEDIUM']),
  ('L',    array['L', 'LG', 'LRG', 'LARGE']),
  ('XL',   array['XL', '1XL', 'X-LARGE', 'XLARGE', 'EXTRA LARGE']),
  ('2XL',  array['2XL', 'XXL', '2X', 'XX-LARGE', 'XXLARGE']),
  ('3XL',  array['3XL', 'XXXL', '3X', 'XXX-LARGE', 'XXXLARGE']),
  ('4XL',  array['4XL', 'XXXXL', '4X', 'XXXX-LARGE']),
  ('5XL',  array['5XL', '5X']),
  ('6XL',  array['6XL', '6X']),
  ('OSFA', array['OSFA', 'OS', 'OSFM', 'ONE SIZE', 'ONE SIZE FITS ALL', 'ADJUSTABLE'])
) as g(code, aliases)
join app.sizes s on s.code = g.code
cross join unnest(g.aliases) as a;

select app.grant_permission('catalog.read', 'owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer');

-- The class of each column (infra/data-classification.md).
comment on table app.styles is
  'tenant: id, tenant_id, scope, style_number, name, brand, category, vendors, listed, withdrawn_at, search; '
  'kept: always';
comment on table app.sizes is
  'platform: id, code, position; '
  'kept: always';
comment on table app.size_aliases is
  'platform: alias, size_id; '
  'kept: always';

select app.give('app.search_styles', 'app.resolve_size');
