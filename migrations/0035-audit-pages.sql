-- Reading the audit log (0010): a page of entries, with the names of whom and what they are about, and its place among all of them.
set local role identity_owner;

-- The entries with the names that the tenant's members may see: of the actor and of the target. A null name: the tenant knows it no longer.
create view app.audit_entries with (security_invoker = true) as
select a.id, a.occurred_at, a.action, a.target_type, a.target_id, a.before, a.after, a.request_id, a.client_request_id,
       encode(a.ip_hash, 'hex') as ip_hash, u.id as actor_id, u.email as actor_email, u.full_name as actor_name, k.id as key_id, k.name as key_name,
       case a.target_type
         when 'membership' then (select coalesce(p.full_name, p.email)::text
                                   from app.memberships m join app.users p on p.id = m.user_id where m.id = a.target_id)
         when 'user' then (select coalesce(p.full_name, p.email)::text from app.users p where p.id = a.target_id)
         -- An open one or a used one. The policy shows those of the tenant alone.
         when 'api_key' then (select t.name::text from app.api_keys t where t.id = a.target_id)
         -- An open one or a used one. The policy shows those of the tenant alone.
         when 'invitation' then (select i.email::text from app.tokens i where i.id = a.target_id)
         when 'deal' then (select d.number::text from app.deals d where d.id = a.target_id)
         when 'design' then (select d.name::text from app.designs d where d.id = a.target_id)
         when 'style' then (select s.style_number || ' ' || s.name from app.styles s where s.id = a.target_id)
         when 'vendor_account' then (select coalesce(v.label, v.account_number)::text from app.vendor_accounts v where v.id = a.target_id)
         when 'sync_run' then (select v.name from app.sync_runs r join app.vendors v on v.code = r.vendor where r.id = a.target_id)
       end as target_name
  from app.audit_log a
  left join app.users u on u.id = a.actor_user_id
  left join app.api_keys k on k.id = a.actor_key_id;
grant select on app.audit_entries to identity_app;

-- Returns where up to p_most entries of the tenant of the transaction are, newest first, from those before a position. p_actors and
-- p_action filter; without p_routine, the coming and going of members is left out. It has the rights of its caller, so the policies apply.
-- Each statement compares and orders by the columns of one index. With `=`, the kept plan could take the primary key and read every entry
-- of the tenant. Sorting is off, as in app.search_styles.
create function app.find_audit_entries(
    p_before timestamptz, p_before_id uuid, p_actors uuid[], p_action text, p_routine boolean, p_from timestamptz, p_to timestamptz,
    p_most integer)
  returns table (occurred_at timestamptz, id uuid)
  language plpgsql stable rows 50
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_sort = off
  as $$
declare
  -- The upper bound that chooses partitions. It is one microsecond after the cursor, because entries of the cursor's time with a
  -- smaller id follow.
  v_until timestamptz := least(p_to, p_before + interval '1 microsecond');
begin
  -- Otherwise a filter would pass over every index entry between.
  if p_to <= p_before then
    p_before := p_to;
    p_before_id := '00000000-0000-0000-0000-000000000000';
  end if;
  if p_action is not null then
    return query select e.occurred_at, e.id from app.audit_log e
      where (e.action, e.occurred_at, e.id) < (p_action, p_before, p_before_id) and (e.action, e.occurred_at) >= (p_action, p_from)
        and e.occurred_at >= p_from and e.occurred_at < v_until and (p_actors is null or e.actor_user_id = any (p_actors) or e.actor_key_id = any (p_actors))
      order by e.action desc, e.occurred_at desc, e.id desc limit p_most;
  elsif p_actors is not null then
    return query select f.occurred_at, f.id from unnest(p_actors) as actor (id) cross join lateral (
        (select e.occurred_at, e.id from app.audit_log e
          where (e.actor_user_id, e.occurred_at, e.id) < (actor.id, p_before, p_before_id)
            and (e.actor_user_id, e.occurred_at) >= (actor.id, p_from)
            and e.occurred_at >= p_from and e.occurred_at < v_until
            and (p_routine or e.action not in ('session.tenant_selected', 'session.signed_out'))
          order by e.actor_user_id desc, e.occurred_at desc, e.id desc limit p_most)
        union all
        -- A key neither comes nor goes.
        (select e.occurred_at, e.id from app.audit_log e
          where (e.actor_key_id, e.occurred_at, e.id) < (actor.id, p_before, p_before_id)
            and (e.actor_key_id, e.occurred_at) >= (actor.id, p_from) and e.actor_key_id is not null
            and e.occurred_at >= p_from and e.occurred_at < v_until
          order by e.actor_key_id desc, e.occurred_at desc, e.id desc limit p_most)) f
      order by f.occurred_at desc, f.id desc limit p_most;
  elsif p_routine then
    return query select e.occurred_at, e.id from app.audit_log e
      where (e.occurred_at, e.id) < (p_before, p_before_id) and e.occurred_at >= p_from and e.occurred_at < v_until
      order by e.occurred_at desc, e.id desc limit p_most;
  else
    return query select e.occurred_at, e.id from app.audit_log e
      where (e.occurred_at, e.id) < (p_before, p_before_id) and e.occurred_at >= p_from and e.occurred_at < v_until
        and e.action not in ('session.tenant_selected', 'session.signed_out')
      order by e.occurred_at desc, e.id desc limit p_most;
  end if;
end
$$;
comment on function app.find_audit_entries is 'callers: identity_app';

-- Returns the entries that app.find_audit_entries finds.
create function app.search_audit_log(
    p_before timestamptz, p_before_id uuid, p_actors uuid[], p_action text, p_routine boolean, p_from timestamptz, p_to timestamptz,
    p_most integer)
  returns setof app.audit_entries
  language plpgsql stable rows 50
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan
  -- Each entry by its key, in the one partition that has it.
  set enable_seqscan = off
  as $$
begin
  return query
    select e.*
      from app.find_audit_entries(p_before, p_before_id, p_actors, p_action, p_routine, p_from, p_to, p_most) f
     cross join lateral (
       select a.* from app.audit_entries a where a.occurred_at = f.occurred_at and a.id = f.id
       offset 0) e
     order by e.occurred_at desc, e.id desc;
end
$$;
comment on function app.search_audit_log is 'callers: identity_app';

-- Returns how many entries the filters find, counting up to p_most of the newest, how many of them precede the page that begins after a
-- position, and the position of the page of p_page entries before that one: null for the first page, or when more than p_most precede.
create function app.place_audit_page(
    p_before timestamptz, p_before_id uuid, p_actors uuid[], p_action text, p_routine boolean, p_from timestamptz, p_to timestamptz,
    p_page integer, p_most integer)
  returns table (total integer, preceding integer, previous_at timestamptz, previous_id uuid)
  language plpgsql stable rows 1
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return query
    with newest as materialized (
      select f.occurred_at, f.id, row_number() over ()::integer as place
        from app.find_audit_entries('infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', p_actors, p_action, p_routine, p_from, p_to, p_most) f),
    counted as (
      select count(*)::integer as total, (count(*) filter (where (n.occurred_at, n.id) >= (p_before, p_before_id)))::integer as preceding
        from newest n)
    select c.total, c.preceding, n.occurred_at, n.id
      from counted c left join newest n on n.place = c.preceding - p_page and c.preceding < p_most;
end
$$;
comment on function app.place_audit_page is 'callers: identity_app';

select app.give('app.find_audit_entries', 'app.search_audit_log', 'app.place_audit_page');
