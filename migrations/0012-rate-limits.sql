-- The rate limits that apply while the cache fails. The table is unlogged: no attempt waits for the disk, and a crash of
-- the database resets the counts to zero.
set local role identity_owner;

create unlogged table app.rate_limits (
  key          bytea not null,
  window_start timestamptz not null,
  attempts     integer not null,
  primary key (key, window_start)
);
grant select, insert, update, delete on app.rate_limits to identity_app;
grant select, delete on app.rate_limits to identity_worker;

-- Counts one attempt in a sliding window of p_window_seconds, as the cache does. The sum is the attempts of the current
-- fixed window, plus a share of the previous window's: the share that the sliding window still overlaps. Does not count a
-- refused attempt. Concurrent attempts never exceed p_limit.
create function app.count_attempt(p_key bytea, p_limit integer, p_window_seconds integer)
  returns table (allowed boolean, retry_after_seconds integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_window interval := make_interval(secs => p_window_seconds);
  v_start timestamptz := date_bin(v_window, clock_timestamp(), timestamptz '2000-01-01 00:00:00Z');
  v_elapsed double precision := extract(epoch from clock_timestamp() - v_start) / p_window_seconds;
  v_carried integer;
begin
  delete from app.rate_limits r where r.key = p_key and r.window_start < v_start - v_window;
  select floor(coalesce(max(r.attempts), 0) * (1 - v_elapsed)) into v_carried
    from app.rate_limits r where r.key = p_key and r.window_start = v_start - v_window;
  if v_carried < p_limit then
    insert into app.rate_limits as r (key, window_start, attempts) values (p_key, v_start, 1)
      on conflict (key, window_start) do update set attempts = r.attempts + 1 where r.attempts + v_carried < p_limit;
    allowed := found;
  else
    allowed := false;
  end if;
  retry_after_seconds := ceil(p_window_seconds * (1 - v_elapsed));
  return next;
end
$$;
revoke all on function app.count_attempt(bytea, integer, integer) from public;
grant execute on function app.count_attempt(bytea, integer, integer) to identity_app;

-- The class of each column (infra/data-classification.md).
comment on table app.rate_limits is 'linked: key; platform: window_start, attempts';
