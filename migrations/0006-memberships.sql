-- Memberships: a user in a tenant, with a role. It has more than 300 lines, because a noun has one file.
set local role identity_owner;

create table app.memberships (
  id          uuid primary key default gen_random_uuid(),
  tenant_id   uuid not null references app.tenants,
  user_id     uuid not null references app.users,
  role_id     integer not null,
  -- Zeros for a role of the platform. With it, a membership cannot have a role of another tenant.
  role_scope  uuid not null generated always as (
    case when role_id < 100 then '00000000-0000-0000-0000-000000000000'::uuid else tenant_id end) stored
    check (role_scope = coalesce(tenant_id, '00000000-0000-0000-0000-000000000000') or role_scope = '00000000-0000-0000-0000-000000000000'),
  -- How it came about. A row that the owner of the database inserts is the platform's, as an operator's is.
  source      text not null default 'operator' check (source in ('invitation', 'operator')),
  invited_by  uuid default app.current_actor() references app.users,
  accepted_at timestamptz,
  revoked_at  timestamptz,
  created_at  timestamptz not null default now(),
  -- When the user selected the tenant last.
  selected_at timestamptz,
  -- Of a person who accepted: their name and address as app.folded writes them. The list of members is in its order, and searches it.
  listed_as   text collate "C",
  -- The open invitation of a user who has never accepted one. Deleting the invitation deletes such a membership, and only
  -- such a one: see the foreign key in 0024 and the check below.
  invitation_id uuid,
  constraint memberships_accepted_outlive_their_invitation check (accepted_at is null or invitation_id is null),
  constraint memberships_role foreign key (role_scope, role_id) references app.roles (scope, id),
  constraint memberships_one_per_person unique (tenant_id, user_id),
  -- Other tables reference this key, so that no row points into another tenant. The id comes first. With the tenant first,
  -- the planner would prefer this index to the one above, and a session check would read every membership of the tenant.
  unique (id, tenant_id)
);
create index memberships_by_user on app.memberships (user_id);
create index memberships_by_name on app.memberships (tenant_id, listed_as, id);
-- For a service that reads the members of all tenants (0023).
create index memberships_of_all_by_age on app.memberships (created_at, id);
-- No statistics: see app.tenants.
alter table app.memberships alter column listed_as set statistics 0;
create index memberships_by_invitation on app.memberships (invitation_id) where invitation_id is not null;
select app.enforce_tenant('app.memberships');

grant select, update (role_id, revoked_at) on app.memberships to identity_app;

create policy operator_read on app.memberships for select to identity_operator using (true);
comment on policy operator_read on app.memberships is 'finds the tenants of a user';
grant select on app.memberships to identity_operator;

create policy resolver_read on app.memberships for select to identity_resolver using (true);
comment on policy resolver_read on app.memberships is 'finds the tenants of a user';
grant select on app.memberships to identity_resolver;
create policy gate on app.memberships to identity_gate using (true);
comment on policy gate on app.memberships is 'checks the membership of a session';
grant select, insert (tenant_id, user_id, role_id, source, invited_by, accepted_at, invitation_id),
  update (role_id, source, invited_by, accepted_at, revoked_at, invitation_id, created_at, selected_at, listed_as) on app.memberships to identity_gate;

-- A tenant sees its members and former members. It sees nobody who was only invited: it must not learn whether there is a user.
-- The guard of app.memberships limits the subquery to the transaction's tenant.
create policy people_of_tenant on app.users for select to identity_app
  using (exists (select from app.memberships m where m.user_id = users.id and m.accepted_at is not null));
comment on policy people_of_tenant on app.users is 'sees the members of the tenant, by the guard of memberships';

-- Returns whether a user may give a role in a tenant, and so take it away: they manage members there, the role does not outrank their
-- own, and their own holds every permission of it, and p_added. Roles of a tenant may share a rank and differ in permissions. Locks what
-- it read, so that a user who is losing a permission either gives the role before, or not at all.
create function app.may_give(p_tenant uuid, p_user uuid, p_role integer, p_added text default null) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  -- As app.authenticate: one plan by indexes, also while a table is small.
  set enable_seqscan = off
  as $$
begin
  perform from app.memberships m
    join app.users u on u.id = m.user_id and u.disabled_at is null
    join app.roles own on own.id = m.role_id and own.permissions ?| array['member.manage', '*']
    join app.roles given on given.id = p_role and given.rank <= own.rank
     and (own.permissions ? '*' or own.permissions @> given.permissions)
     and (p_added is null or app.holds(own.permissions, p_added))
   where m.tenant_id = p_tenant and m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null
     for share of m, own, given;
  return found;
end
$$;
comment on function app.may_give is 'callers: identity_gate';

-- Raises TN430 when a person gives, takes away or changes a role that they may not give, in a membership or an invitation (0024). It
-- runs before the change, because a person who changes their own role may give what they held before. Without a person the platform
-- writes: an operator, the owner of the database, or app.accept_invitation, which asks about the inviter.
create function app.keep_within_reach() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_actor uuid := app.current_actor();
begin
  if v_actor is not null
     and (tg_op <> 'INSERT' and not app.may_give(old.tenant_id, v_actor, old.role_id)
          or tg_op = 'INSERT' and not app.may_give(new.tenant_id, v_actor, new.role_id)
          or tg_op = 'UPDATE' and new.role_id <> old.role_id and not app.may_give(new.tenant_id, v_actor, new.role_id)) then
    raise exception 'a person gives and takes away only roles that they may give' using errcode = 'TN430';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$$;
comment on function app.keep_within_reach is
  'owner: identity_gate; proof: scope; callers: identity_owner; definer: locks the roles that it compares';
-- A membership that nobody has accepted says nothing: its invitation is checked, and its role is taken again at the acceptance. Checking
-- it too would cost an invitation time by which a tenant could learn whether the address has a user.
create trigger memberships_keep_within_reach before insert or update of role_id, accepted_at, revoked_at on app.memberships
  for each row when (new.accepted_at is not null) execute function app.keep_within_reach();

-- Makes a membership or revives one, and returns its id. No login has another way. With p_invitation the person is only invited to it,
-- and who accepted an invitation before stays what they are. Without it they are a member from now on. A live member keeps their
-- role, unless the platform (p_inviter is null) gives it: that is how a tenant without an owner gets one.
create function app.make_membership(
    p_tenant uuid, p_user uuid, p_role integer, p_source text, p_inviter uuid, p_invitation uuid)
  returns uuid
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_id uuid;
begin
  insert into app.memberships as m (tenant_id, user_id, role_id, source, invited_by, invitation_id, accepted_at)
  values (p_tenant, p_user, p_role, p_source, p_inviter, p_invitation, case when p_invitation is null then now() end)
  on conflict on constraint memberships_one_per_person do update
    set role_id = case when m.accepted_at is null or m.revoked_at is not null or p_inviter is null
                       then excluded.role_id else m.role_id end,
        source = case when m.accepted_at is null or m.revoked_at is not null or p_inviter is null
                      then excluded.source else m.source end,
        invited_by = excluded.invited_by, invitation_id = excluded.invitation_id, revoked_at = null,
        accepted_at = case when m.accepted_at is null or m.revoked_at is not null then excluded.accepted_at else m.accepted_at end,
        -- As for a user that the acceptance creates: the time must not tell who had an account before.
        created_at = case when m.accepted_at is null and p_invitation is null then excluded.created_at else m.created_at end
    where m.accepted_at is null or p_invitation is null
  returning m.id into v_id;
  return v_id;
end
$$;
comment on function app.make_membership is 'callers: identity_gate';

-- Raises TN409 when a change removes the last owner of a tenant who can sign in. Locks the tenant before it counts owners.
-- When two owners remove each other concurrently, the second change waits for the first commit, counts, and fails. The
-- operators' command that disables a user takes the same lock.
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
  if not exists (select from app.memberships m join app.users u on u.id = m.user_id and u.disabled_at is null
                  where m.tenant_id = old.tenant_id and m.role_id = 1
                    and m.accepted_at is not null and m.revoked_at is null) then
    raise exception 'a tenant needs at least one owner who can sign in' using errcode = 'TN409';
  end if;
  return null;
end
$$;
comment on function app.keep_an_owner is 'callers: none';
create trigger memberships_keep_an_owner after update or delete on app.memberships
  for each row execute function app.keep_an_owner();

-- Mails the owners of a tenant that somebody left it. Requires a membership that ended in this transaction. An owner who left gets no mail.
create function app.mail_owners(p_membership uuid) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.enqueue('mail', jsonb_build_object('template', 'member-left', 'user_id', o.user_id, 'membership_id', m.id),
                      'left ' || m.id || ' ' || m.revoked_at || ' ' || o.user_id)
     from app.memberships m
     join app.memberships o on o.tenant_id = m.tenant_id and o.role_id = 1 and o.accepted_at is not null and o.revoked_at is null
    where m.id = p_membership;
end
$$;
comment on function app.mail_owners is 'callers: identity_gate, identity_app';

-- Ends the membership of the ticket's user in a tenant, and their sessions in it, and mails the owners. Returns false when they are no member. Raises TN401 when
-- the session is no longer live, TN428 when it has not stepped up in the last p_step_up_seconds, and TN409 for the last owner. Nobody's
-- permission is asked: a person may always leave.
create function app.leave_tenant(p_ticket bytea, p_tenant uuid, p_source app.source, p_step_up_seconds integer) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user uuid := (app.check_ticket(p_ticket, 'session')).user_id;
  v_membership uuid;
  v_role integer;
begin
  -- The tenant is locked before the user: see 0008.
  perform app.mark_revocation();
  perform from app.tenants t where t.id = p_tenant and t.deleted_at is null for no key update;
  if not found then
    return false;
  end if;
  perform app.enter_session(p_ticket, p_step_up_seconds);
  update app.memberships m set revoked_at = now()
   where m.tenant_id = p_tenant and m.user_id = v_user and m.accepted_at is not null and m.revoked_at is null
  returning m.id, m.role_id into v_membership, v_role;
  if not found then
    return false;
  end if;
  update app.sessions s set revoked_at = now() where s.user_id = v_user and s.tenant_id = p_tenant and s.revoked_at is null;
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, client_request_id, ip_hash)
  values (p_tenant, v_user, 'membership.revoked', 'membership', v_membership,
          jsonb_build_object('role', (select r.code from app.roles r where r.id = v_role)), '{"left": true}',
          p_source.request_id, p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, p_tenant));
  perform app.mail_owners(v_membership);
  return true;
end
$$;
comment on function app.leave_tenant is
  'owner: identity_gate; proof: ticket; callers: identity_auth; '
  'definer: ends a membership that its user, and not the tenant of a transaction, gives up';

-- Returns a text without case, accents and punctuation, its words separated by spaces. It folds letters as the dictionary `unaccent`
-- does: ø is o, ł is l, ß is ss.
create function app.folded(p_text text) returns text
  language sql immutable
  return btrim(regexp_replace(
    replace(replace(replace(replace(translate(
      regexp_replace(lower(normalize(p_text, nfkd) collate "und-x-icu"), '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]', '', 'g'),
      'øłđðħŧı', 'olddhti'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
    '[^[:alnum:]]+', ' ', 'g'));
comment on function app.folded is 'callers: identity_gate';

-- Returns how a list of people orders and searches somebody: by the name, then by the address. Both spellings of a name with
-- punctuation are found: O'Hara as "o hara" and as "ohara". At most 300 characters, which a cursor takes.
create function app.listed_as(p_name text, p_email text) returns text
  language sql immutable
  return left(btrim(app.folded(coalesce(p_name, '')) || ' ' || app.folded(p_email)
    || coalesce(' ' || nullif(app.folded(regexp_replace(p_name collate "und-x-icu", '[^[:alnum:][:space:]]', '', 'g')), app.folded(p_name)), '')), 300);
comment on function app.listed_as is 'callers: identity_gate';

-- A membership that nobody has accepted is not listed. So an invitation does the same for an address with and without a user.
create function app.list_member() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  select app.listed_as(u.full_name, u.email) into new.listed_as from app.users u where u.id = new.user_id;
  return new;
end
$$;
comment on function app.list_member is 'callers: none';
create trigger memberships_list_member before insert or update of user_id, accepted_at on app.memberships
  for each row when (new.accepted_at is not null) execute function app.list_member();

-- Whoever changes a name or an address, the lists of all tenants follow.
create function app.list_user_again() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update app.memberships m set listed_as = app.listed_as(new.full_name, new.email) where m.user_id = new.id and m.accepted_at is not null;
  return null;
end
$$;
comment on function app.list_user_again is 'callers: none';
create trigger users_list_again after update of full_name, email on app.users
  for each row when (old.full_name is distinct from new.full_name or old.email is distinct from new.email)
  execute function app.list_user_again();

-- Returns people of a ticket's tenant by name: members, former members, and who has an open invitation, by the address. An invited
-- person has no user here: a tenant must not learn whether there is one. p_search finds those who have each of its words, in any order.
-- p_second_factor finds the members who have a second factor, or who have none. Only of a present member a tenant learns whether they have one.
-- p_counted adds to each row how many people there are, how many of them precede the page, and the position before the previous page.
-- A query of a tenant's role would prove for each user that they are a member. Here the join with the memberships is the proof.
-- It sets no tenant: nothing else runs in its transaction. Times are text, because the service sends them as text.
create function app.list_members(
    p_ticket bytea, p_active boolean, p_revoked boolean, p_invited boolean, p_role text, p_search text, p_after text, p_after_id uuid,
    p_most integer, p_counted boolean, p_second_factor boolean default null)
  returns table (id uuid, user_id uuid, email text, full_name text, avatar_url text, disabled boolean,
                 role_id integer, role_code text, role_label text, role_rank integer, second_factor boolean, invited_by uuid,
                 accepted_at text, revoked_at text, created_at text, sort_key text,
                 total integer, preceding integer, previous_key text, previous_id uuid)
  language plpgsql stable security definer rows 50
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- One plan, which reads memberships and invitations in the order of the page, and the users of the page by their key. It expects
  -- few hits of a search, and would else search all users first, also for a page without a search.
  set plan_cache_mode = force_generic_plan
  set enable_sort = off
  set enable_bitmapscan = off
  set enable_material = off
  as $$
declare
  v_tenant uuid;
  v_words text[] := array(select '%' || w || '%' from string_to_table(app.folded(p_search), ' ') w where w <> '');
  v_total integer;
  v_preceding integer;
  v_previous_key text;
  v_previous_id uuid;
begin
  select t.tenant_id into v_tenant from app.check_ticket(p_ticket, 'session') t;
  if v_tenant is null then
    raise exception 'the list of members needs a ticket with a tenant' using errcode = 'TN500';
  end if;
  -- Nobody has a name without a letter or a digit.
  if p_search is not null and v_words = '{}' then
    return;
  end if;
  if p_counted then
    with people as materialized (
      select m.listed_as as key, m.id
        from app.memberships m
        join app.roles r on r.id = m.role_id
       where m.tenant_id = v_tenant and m.accepted_at is not null
         and case when m.revoked_at is null then p_active else p_revoked end
         and (p_role is null or r.code = p_role) and m.listed_as like all (v_words)
         and (p_second_factor is null
              or m.revoked_at is null and p_second_factor = exists (select from app.factors f where f.user_id = m.user_id))
      union all
      select app.folded(i.email), i.id
        from app.tokens i
        join app.roles r on r.id = i.role_id
       where p_invited and p_second_factor is null and i.tenant_id = v_tenant and i.purpose = 'invite' and i.consumed_at is null and i.role_id is not null
         and (p_role is null or r.code = p_role) and app.folded(i.email) collate "C" like all (v_words)
    ), counts as (
      select count(*)::integer as total, (count(*) filter (where (p.key collate "C", p.id) <= (p_after, p_after_id)))::integer as preceding
        from people p
    )
    select c.total, c.preceding, p.key, p.id into v_total, v_preceding, v_previous_key, v_previous_id
      from counts c
      left join lateral (
        select p.key, p.id from people p where (p.key collate "C", p.id) <= (p_after, p_after_id)
         order by p.key collate "C" desc, p.id desc offset p_most - 1 limit 1) p on true;
  end if;
  return query
    select l.id, l.user_id, l.email, l.full_name, l.avatar_url, l.disabled, l.role_id, l.code, l.label, l.rank,
           case when l.accepted_at is not null and l.revoked_at is null then exists (select from app.factors f where f.user_id = l.user_id) end,
           l.invited_by,
           l.accepted_at::text, l.revoked_at::text, l.created_at::text, l.key, v_total, v_preceding, v_previous_key, v_previous_id
      from ((select m.id, u.id as user_id, u.email::text, u.full_name::text, u.avatar_url, u.disabled_at is not null as disabled,
                    r.id as role_id, r.code, r.label::text, r.rank, m.invited_by, m.accepted_at, m.revoked_at, m.created_at, m.listed_as as key
               from app.memberships m
               join app.users u on u.id = m.user_id
               join app.roles r on r.id = m.role_id
              where m.tenant_id = v_tenant and m.accepted_at is not null
                and case when m.revoked_at is null then p_active else p_revoked end
                and (m.listed_as, m.id) > (p_after, p_after_id)
                and (p_role is null or r.code = p_role) and m.listed_as like all (v_words)
                and (p_second_factor is null
                     or m.revoked_at is null and p_second_factor = exists (select from app.factors f where f.user_id = m.user_id))
              order by m.listed_as, m.id
              limit p_most)
            union all
            (select i.id, null, i.email::text, null, null, false,
                    r.id, r.code, r.label::text, r.rank, i.invited_by, null, null, i.created_at, app.folded(i.email) collate "C"
               from app.tokens i
               join app.roles r on r.id = i.role_id
              where p_invited and p_second_factor is null and i.tenant_id = v_tenant and i.purpose = 'invite' and i.consumed_at is null and i.role_id is not null
                and (app.folded(i.email) collate "C", i.id) > (p_after, p_after_id)
                and (p_role is null or r.code = p_role) and app.folded(i.email) collate "C" like all (v_words)
              order by app.folded(i.email) collate "C", i.id
              limit p_most)) l
     order by l.key collate "C", l.id
     limit p_most;
end
$$;

comment on function app.list_members is
  'owner: identity_gate; proof: ticket; callers: identity_app; '
  'definer: reads the users of a tenant without a proof for each row; long: members and invitations are one list';

-- The class of each column (infra/data-classification.md).
comment on table app.memberships is
  'personal: listed_as; linked: id, user_id, invited_by, invitation_id; tenant: tenant_id, role_id, role_scope, source, accepted_at, revoked_at, created_at, selected_at; '
  'kept: always, as the record of who did what';

select app.give('app.may_give', 'app.keep_within_reach', 'app.make_membership', 'app.keep_an_owner', 'app.mail_owners', 'app.leave_tenant', 'app.folded', 'app.listed_as',
                'app.list_member', 'app.list_user_again', 'app.list_members');

select app.grant_permission('member.manage', 'owner', 'admin');
