-- The rate limits. The cache counts those of requests without a session too, and refuses them first. The table is unlogged: no attempt waits for the disk, and a crash of
-- the database resets the counts to zero. No login has a privilege on these tables: it could lock them, and keep everybody from signing in.
set local role identity_owner;

create unlogged table app.rate_limits (
  key          bytea not null,
  window_start timestamptz not null,
  attempts     integer not null,
  -- The key of the wider limit that this one is a part of.
  part_of      bytea,
  primary key (key, window_start)
);
create index rate_limits_by_whole on app.rate_limits (part_of) where part_of is not null;
create index rate_limits_by_age on app.rate_limits (window_start);
grant select, insert, update, delete on app.rate_limits to identity_gate;

-- The networks from which users signed in: a keyed hash of email and network, and the time of the last sign-in. A limit that
-- others can exhaust does not apply to them. The job `maintain` deletes rows after 30 days.
create table app.known_networks (
  key     bytea primary key check (length(key) = 32),
  seen_at timestamptz not null default now()
);
create index known_networks_by_age on app.known_networks (seen_at);
grant select, insert (key), update (seen_at), delete on app.known_networks to identity_gate;

-- Counts one attempt in a sliding window of p_window_seconds, as the cache does. The sum is the attempts of the current
-- fixed window, plus a share of the previous window's: the share that the sliding window still overlaps. Does not count a
-- refused attempt. Concurrent attempts never exceed p_limit.
create function app.count_attempt(
    p_key bytea, p_limit integer, p_window_seconds integer, p_part_of bytea,
    out allowed boolean, out retry_after_seconds integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  -- A connection that plans while the table is empty would read all of it at each attempt, for as long as the plan is kept.
  set enable_seqscan = off
  as $$
declare
  v_window interval := make_interval(secs => p_window_seconds);
  v_start timestamptz := date_bin(v_window, clock_timestamp(), timestamptz '2000-01-01 00:00:00Z');
  v_elapsed double precision := extract(epoch from clock_timestamp() - v_start) / p_window_seconds;
  v_carried integer;
  v_stale boolean;
begin
  -- By the key alone. A connection that planned a search for a window while the table was empty would find it in the index by
  -- age, among the rows of all other keys.
  select floor(coalesce(max(r.attempts) filter (where r.window_start = v_start - v_window), 0) * (1 - v_elapsed)),
         bool_or(r.window_start < v_start - v_window)
    into v_carried, v_stale
    from app.rate_limits r where r.key = p_key;
  if v_stale then
    delete from app.rate_limits r where r.key = p_key and (r.window_start < v_start - v_window) is true;
  end if;
  if v_carried < p_limit then
    insert into app.rate_limits as r (key, window_start, attempts, part_of) values (p_key, v_start, 1, p_part_of)
      on conflict (key, window_start) do update set attempts = r.attempts + 1 where r.attempts + v_carried < p_limit;
    allowed := found;
  else
    allowed := false;
  end if;
  retry_after_seconds := ceil(p_window_seconds * (1 - v_elapsed));
end
$$;
comment on function app.count_attempt is 'callers: identity_gate';

-- Counts one attempt against each limit in turn, up to the first that refuses it. Returns its index, or null when all allow
-- it. p_refused is the index of a limit that has refused the attempt already: it then counts nothing. After a refusal it asks
-- the refusing limit again in place of the others, which counts nothing more, so that the work is the same in every case.
create function app.count_attempts(
    p_limits jsonb, p_refused integer, out refused_by integer, out retry_after_seconds integer)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_limit jsonb;
  v_allowed boolean;
begin
  refused_by := p_refused;
  for v_index in 0 .. jsonb_array_length(p_limits) - 1 loop
    v_limit := p_limits -> coalesce(refused_by, v_index);
    select c.allowed, c.retry_after_seconds into v_allowed, retry_after_seconds
      from app.count_attempt(decode(v_limit ->> 'key', 'hex'), (v_limit ->> 'most')::integer,
             (v_limit ->> 'window_seconds')::integer, decode(v_limit ->> 'part_of', 'hex')) c;
    if not v_allowed and refused_by is null and not exists (
         select from app.known_networks n
          where n.key = decode(v_limit ->> 'known_network', 'hex') and n.seen_at > now() - interval '30 days') then
      refused_by := v_index;
    end if;
  end loop;
end
$$;
comment on function app.count_attempts is
  'owner: identity_gate; proof: none; callers: identity_app, identity_auth, identity_services; definer: counts in a table that no login reaches';

-- After a success: deletes the attempts of each limit, or takes one back. Locks rows in the order of app.count_attempts, so
-- that the two do not deadlock.
create function app.settle_attempts(p_limits jsonb) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key bytea;
  v_window interval;
  v_forget boolean;
begin
  for v_key, v_window, v_forget in
    select decode(l ->> 'key', 'hex'), make_interval(secs => (l ->> 'window_seconds')::integer), (l ->> 'forget')::boolean
      from jsonb_array_elements(p_limits) as l
  loop
    if v_forget then
      delete from app.rate_limits r where r.key = v_key;
    else
      update app.rate_limits r set attempts = r.attempts - 1
       where r.key = v_key and r.attempts > 0
         and r.window_start = date_bin(v_window, clock_timestamp(), timestamptz '2000-01-01 00:00:00Z');
    end if;
  end loop;
end
$$;
comment on function app.settle_attempts is
  'owner: identity_gate; proof: none; callers: identity_app, identity_auth; definer: counts in a table that no login reaches';

-- Deletes the attempts that were counted against a limit and its parts. Returns the keys of both. A key is a keyed hash: nobody
-- without the pepper can say the key of another person, or see one.
create function app.forget_attempts(p_key bytea) returns setof bytea
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  return query delete from app.rate_limits r where r.key = p_key or r.part_of = p_key returning r.key;
end
$$;
comment on function app.forget_attempts is
  'owner: identity_gate; proof: none; callers: identity_app, identity_auth; definer: deletes from a table that no login reaches';

-- For the job `maintain`: deletes up to p_batch counts of two days ago, and returns how many. The order makes Postgres read the index by age.
create function app.delete_old_attempts(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.rate_limits where (key, window_start) in (
    select r.key, r.window_start from app.rate_limits r
     where r.window_start < now() - interval '2 days' order by r.window_start limit p_batch);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_attempts is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes from a table that no login reaches';

-- Deletes up to p_batch networks that nobody has signed in from for 30 days, and returns how many.
create function app.delete_old_networks(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.known_networks where key = any (array(
    select n.key from app.known_networks n where n.seen_at < now() - interval '30 days' order by n.seen_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_networks is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes from a table that no login reaches';

-- The class of each column (infra/data-classification.md).
comment on table app.rate_limits is 'linked: key, part_of; platform: window_start, attempts';
comment on table app.known_networks is 'linked: key; platform: seen_at';

select app.give(
  'app.count_attempt', 'app.count_attempts', 'app.settle_attempts', 'app.forget_attempts', 'app.delete_old_attempts',
  'app.delete_old_networks');
