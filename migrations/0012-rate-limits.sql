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

-- Returns the key of a user's network or device. p_network is a keyed hash of either.
create function app.network_of(p_network bytea, p_email text) returns bytea
  language sql immutable
  return sha256(p_network || convert_to(lower(p_email collate "C"), 'UTF8'));
comment on function app.network_of is 'callers: identity_gate';

-- Returns whether a user signed in from a network in the last 30 days. Null is no network.
create function app.is_known_network(p_key bytea) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return p_key is not null
     and exists (select from app.known_networks n where n.key = p_key and n.seen_at > now() - interval '30 days');
end
$$;
comment on function app.is_known_network is 'callers: identity_gate';

-- Returns how a limit stands at p_now, in a sliding window as the cache computes it. The attempts that count are those of the current
-- fixed window, and a share of those of the previous one: the share that the sliding window still overlaps. `room` is what that share leaves
-- of the limit for the current window. Deletes the key's windows before those two.
create function app.look_at_limit(
    p_limit app.limit, p_now timestamptz,
    out window_start timestamptz, out used integer, out room integer, out retry_after_seconds integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  -- A connection that plans while the table is empty would read all of it at each attempt, for as long as the plan is kept.
  set enable_seqscan = off
  as $$
#variable_conflict use_variable
declare
  v_window interval := make_interval(secs => p_limit.seconds);
  v_elapsed double precision;
  v_is_stale boolean;
begin
  window_start := date_bin(v_window, p_now, timestamptz '2000-01-01 00:00:00Z');
  v_elapsed := extract(epoch from p_now - window_start) / p_limit.seconds;
  -- By the key alone. A connection that planned a search for a window while the table was empty would find it in the index by
  -- age, among the rows of all other keys.
  select coalesce(max(r.attempts) filter (where r.window_start = window_start), 0),
         p_limit.most - floor(coalesce(max(r.attempts) filter (where r.window_start = window_start - v_window), 0) * (1 - v_elapsed)),
         bool_or(r.window_start < window_start - v_window)
    into used, room, v_is_stale
    from app.rate_limits r where r.key = p_limit.key;
  if v_is_stale then
    delete from app.rate_limits r where r.key = p_limit.key and (r.window_start < window_start - v_window) is true;
  end if;
  retry_after_seconds := ceil(p_limit.seconds * (1 - v_elapsed));
end
$$;
comment on function app.look_at_limit is 'callers: identity_gate';

-- Counts one attempt against a limit, unless it is reached. Concurrent attempts never exceed it.
create function app.count_attempt(
    p_limit app.limit, p_part_of bytea default null,
    out allowed boolean, out retry_after_seconds integer, out window_start timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_look record := app.look_at_limit(p_limit, clock_timestamp());
begin
  if v_look.room > 0 then
    insert into app.rate_limits as r (key, window_start, attempts, part_of) values (p_limit.key, v_look.window_start, 1, p_part_of)
      on conflict (key, window_start) do update set attempts = r.attempts + 1 where r.attempts < v_look.room;
    allowed := found;
  else
    allowed := false;
  end if;
  retry_after_seconds := v_look.retry_after_seconds;
  count_attempt.window_start := v_look.window_start;
end
$$;
comment on function app.count_attempt is 'callers: identity_gate';

-- Gives back attempts that app.count_attempt or app.count_attempts counted: pairs of a key, in hex, and a window.
create function app.give_back_attempts(p_taken jsonb) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  as $$
declare
  v_key text;
  v_window text;
begin
  -- In the order in which they were counted, so that two transactions do not wait for each other.
  for v_key, v_window in select t ->> 0, t ->> 1 from jsonb_array_elements(p_taken) as t loop
    update app.rate_limits r set attempts = r.attempts - 1
     where r.key = decode(v_key, 'hex') and r.window_start = v_window::timestamptz and r.attempts > 0;
  end loop;
end
$$;
comment on function app.give_back_attempts is 'callers: identity_gate';

-- Looks at all limits of one attempt, and counts it against each only if none refuses it. A limit with `on_failure` is looked at alone:
-- the outcome of the attempt is counted later. A limit that is reached spares a network that is known to it. Concurrent attempts never
-- exceed a limit. Returns the index of the first limit that refuses, or null, and what it took: see app.give_back_attempts.
-- p_refused is the index of a limit that has refused the attempt already: then it counts nothing. It makes the same number of statements in
-- every case.
create function app.count_attempts(
    p_limits jsonb, p_refused integer, out refused_by integer, out retry_after_seconds integer, out taken jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  as $$
declare
  v_keys bytea[];
  v_parts bytea[];
  v_windows timestamptz[];
  v_rooms integer[];
  v_waits integer[];
  v_networks bytea[];
  v_counts boolean[];
  v_counted bytea[];
begin
  select array_agg(l.key order by l.place), array_agg(l.part_of order by l.place), array_agg(l.network order by l.place),
         array_agg(s.window_start order by l.place), array_agg(s.room order by l.place),
         array_agg(s.retry_after_seconds order by l.place), array_agg(s.used < s.room and not l.on_failure order by l.place),
         coalesce(p_refused, min(l.place) filter (where s.used >= s.room and not app.is_known_network(l.network)))
    into v_keys, v_parts, v_networks, v_windows, v_rooms, v_waits, v_counts, refused_by
    from (select e.place::integer - 1 as place, decode(e.l ->> 'key', 'hex') as key, (e.l ->> 'most')::integer as most,
                 (e.l ->> 'window_seconds')::integer as seconds, decode(e.l ->> 'part_of', 'hex') as part_of,
                 decode(e.l ->> 'known_network', 'hex') as network, coalesce((e.l ->> 'on_failure')::boolean, false) as on_failure
            from jsonb_array_elements(p_limits) with ordinality as e(l, place) offset 0) as l
    cross join lateral app.look_at_limit(row(l.key, l.most, l.seconds)::app.limit, clock_timestamp()) as s;
  with counted as (
    insert into app.rate_limits as r (key, window_start, attempts, part_of)
    select c.key, c.window_start, 1, c.part_of
      from unnest(v_keys, v_windows, v_parts, v_counts) with ordinality as c(key, window_start, part_of, counts, place)
     where refused_by is null and c.counts
     order by c.place
    on conflict (key, window_start) do update set attempts = r.attempts + 1
      where r.attempts < v_rooms[array_position(v_keys, r.key)]
    returning r.key, r.window_start
  )
  select array_agg(c.key), coalesce(jsonb_agg(jsonb_build_array(encode(c.key, 'hex'), c.window_start)), '[]')
    into v_counted, taken from counted c;
  if refused_by is null and cardinality(v_counted) is distinct from cardinality(array_positions(v_counts, true)) then
    -- A concurrent attempt took the last place between the two statements.
    select min(c.place) - 1 into refused_by
      from unnest(v_keys, v_networks, v_counts) with ordinality as c(key, network, counts, place)
     where c.counts and c.key <> all (coalesce(v_counted, '{}')) and not app.is_known_network(c.network);
    if refused_by is not null then
      perform app.give_back_attempts(taken);
      taken := '[]';
    end if;
  end if;
  retry_after_seconds := v_waits[refused_by + 1];
end
$$;
comment on function app.count_attempts is
  'owner: identity_gate; proof: none; callers: identity_app, identity_auth, identity_services; definer: counts in a table that no login reaches';

-- Deletes the attempts that were counted against a limit and its parts. Returns the keys of both. A key is a keyed hash: nobody
-- without the pepper can say the key of another person, or see one.
create function app.forget_attempts(p_key bytea) returns setof bytea
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  -- The parts first, as app.sign_in locks them, so that the two do not wait for each other.
  return query delete from app.rate_limits r where r.part_of = p_key returning r.key;
  return query delete from app.rate_limits r where r.key = p_key returning r.key;
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
comment on table app.rate_limits is
  'linked: key, part_of; platform: window_start, attempts; '
  'kept: 2 days, by app.delete_old_attempts';
comment on table app.known_networks is
  'linked: key; platform: seen_at; '
  'kept: 30 days after the last sign-in, by app.delete_old_networks';

select app.give(
  'app.network_of', 'app.is_known_network', 'app.look_at_limit', 'app.count_attempt', 'app.give_back_attempts', 'app.count_attempts', 'app.forget_attempts',
  'app.delete_old_attempts', 'app.delete_old_networks');
