-- The tenant of a transaction, and the guard that limits a table to it: row security with four policies. Also the collation
-- and the domains of text columns.
-- `app.current_tenant` and `app.enforce_tenant` are public: other services on this database use them (0021).
-- It has more than 300 lines, because one file knows the seal, its keys and the bytes of a ticket.
set local role identity_owner;

-- Ignores letter case. Under row security, `=` on such a column can use an index. citext and lower() cannot, because their
-- operators are not leakproof. Emails and slugs are printable ASCII, so no two become equal except by letter case.
create collation app.case_insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- Text of one line, without the characters that `isOneLine` (shared/schema/text.ts) refuses: Cc, Cf, Zl and Zp. It allows
-- U+200C and U+200D anywhere.
create domain app.one_line as text constraint one_line_check check (value collate "C" !~ ('['
  '\u0001-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b\u200e-\u200f\u2028-\u202e'
  '\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3'
  '\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f'
  ']'));

-- An email address, as `Email` (shared/schema/email.ts) accepts it. Lengths and the encoded word are conditions of their own: with them,
-- Postgres takes thirty times as long for the pattern.
create domain app.email_address as text collate app.case_insensitive constraint email_address_check check (
  length(value) <= 254
  and strpos(value collate "C", '=?') = 0
  and right(value collate "C", 64) !~ '[.][0-9]+$'
  and strpos(value collate "C", '@') <= 65
  and value collate "C" ~ ('^[\w!#$%&''*+/=?^`{|}~-]+(\.[\w!#$%&''*+/=?^`{|}~-]+)*'
                           '@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$')
  and (length(value) < 64 or value collate "C" !~ '@.*[A-Za-z0-9-]{64}'));

-- A hash or a secret of 32 bytes, the id of a request, and the User-Agent of a browser. Each statement that writes a table parses the
-- table's constraints again. Postgres caches those of a domain. So the tables that most requests write have domains.
create domain app.hash as bytea constraint hash_check check (length(value) = 32);
create domain app.request_id as text constraint request_id_check check (length(value) <= 128);
create domain app.user_agent as text constraint user_agent_check check (length(value) <= 512);

-- Parameters that belong together: where a request came from, and a rate limit (0012).
create type app.source as (request_id text, client_request_id text, ip_hash bytea);
create type app.limit as (key bytea, most integer, seconds integer);

-- The keys of the seals that only this database can make. identity_gate alone reads them. The first three seal nothing that lasts
-- longer than a request, so app.renew_seal may replace them at any time. It keeps the last.
--   scope_key   seals the tenant and the actor of a transaction
--   ticket_key  seals what a session check found
--   proof_key   seals the same for another service (0021)
--   salt_key    makes the password salt of an address without a password, which is the same each time
-- A seal is the SHA-256 of a key of one block and a message. Each key seals messages of one length, so nobody can extend one.
create table app.seal (
  single     boolean primary key default true check (single),
  scope_key  bytea not null check (length(scope_key) = 64),
  ticket_key bytea not null check (length(ticket_key) = 64),
  proof_key  bytea not null check (length(proof_key) = 64),
  salt_key   bytea not null check (length(salt_key) = 64)
);
grant select on app.seal to identity_gate;
-- No statistics: see app.tenants.
alter table app.seal alter column scope_key set statistics 0, alter column ticket_key set statistics 0,
  alter column proof_key set statistics 0, alter column salt_key set statistics 0;

-- The class of each column (infra/data-classification.md).
comment on table app.seal is
  'secret: scope_key, ticket_key, proof_key, salt_key; platform: single; '
  'kept: until an operator renews it';

-- Replaces the keys of the seals. Requests in progress fail. The database makes the keys, and nobody else knows them.
create function app.renew_seal() returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  insert into app.seal (scope_key, ticket_key, proof_key, salt_key)
  select uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
         uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
         uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
         uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
  on conflict (single) do update set scope_key = excluded.scope_key, ticket_key = excluded.ticket_key,
    proof_key = excluded.proof_key;
end
$$;
comment on function app.renew_seal is 'proof: none; callers: identity_operator; definer: writes app.seal, which no login may';
select app.renew_seal();

-- Returns the tenant of the transaction, or null. Raises TN500 when the scope was not sealed in this transaction and in its mode: the
-- start of the transaction, and whether it only reads, are parts of the sealed message. So the scope of a read is of no use once a
-- savepoint has made the transaction READ WRITE again. The scope is what bytes 1 to 33 of a ticket say, as 66 hexadecimal digits: who acts
-- (s is a user, k an API key), the tenant, and the id of the user or key. The id is zeros in the scope of a job, an operator or an invitation. Every policy calls this function, so it avoids what costs time: SET clauses,
-- and unqualified names, which a caller's search_path could redirect. Always write `(select app.current_tenant())` in a
-- condition, or Postgres calls it for each row. It is PARALLEL RESTRICTED, because a parallel worker does not know the mode of the
-- transaction. Postgres calls it once in the leader, and its workers still scan the tables.
create function app.current_tenant() returns uuid
  language plpgsql stable parallel restricted security definer
  as $$
declare
  v_scope pg_catalog.text := pg_catalog.current_setting('app.scope', true);
  v_key pg_catalog.bytea;
begin
  -- A connection keeps the setting as '' after the transaction ends.
  if v_scope operator(pg_catalog.<>) '' then
    select s.scope_key into v_key from app.seal s;
    if pg_catalog.length(v_scope) operator(pg_catalog.=) 66
       and pg_catalog.decode(pg_catalog.current_setting('app.scope_seal', true), 'hex') operator(pg_catalog.=) pg_catalog.sha256(
         v_key operator(pg_catalog.||) pg_catalog.decode(v_scope, 'hex')
               operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())
               operator(pg_catalog.||) pg_catalog.boolsend(pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on')) then
      return pg_catalog.substr(v_scope, 3, 32);
    end if;
    raise exception 'the scope of the transaction is not sealed' using errcode = 'TN500';
  end if;
  return null;
end
$$;
comment on function app.current_tenant is
  'owner: identity_gate; proof: scope; '
  'callers: identity_app, identity_worker, identity_operator, identity_vault, identity_resolver, tenant_bound; '
  'definer: reads the key that seals the scope; qualified: every policy calls it';

-- Returns the id of the user or of the API key that acts in the transaction's tenant. Null in no tenant, and in the scope of a job, an
-- operator or an invitation. Whatever asks for the rights of a user finds none by the id of a key.
create function app.current_actor() returns uuid
  language sql stable parallel restricted
  return case when app.current_tenant() is not null
              then nullif(right(current_setting('app.scope'), 32)::uuid, '00000000-0000-0000-0000-000000000000') end;
comment on function app.current_actor is
  'callers: identity_app, identity_worker, identity_operator, identity_vault, identity_resolver, identity_gate, tenant_bound';

-- Returns the user who acts in the transaction's tenant, or null: nobody acts, or an API key does.
create function app.acting_user() returns uuid
  language sql stable parallel restricted
  return case when app.current_tenant() is not null and left(current_setting('app.scope'), 2) = '73' then app.current_actor() end;
comment on function app.acting_user is
  'callers: identity_app, identity_worker, identity_operator, identity_vault, identity_resolver, identity_gate, tenant_bound';

-- Returns the API key that acts in the transaction's tenant, or null.
create function app.acting_key() returns uuid
  language sql stable parallel restricted
  return case when app.current_tenant() is not null and left(current_setting('app.scope'), 2) = '6b' then app.current_actor() end;
comment on function app.acting_key is
  'callers: identity_app, identity_worker, identity_operator, identity_vault, identity_resolver, identity_gate, tenant_bound';

-- Sets and seals the tenant and the actor until the transaction ends, or changes its mode; null means none. The actor is a user or an API
-- key. For the functions of identity_gate, each of which has checked a proof, and for the owner.
create function app.set_tenant(p_tenant uuid, p_actor uuid default null, p_key uuid default null) returns void
  language plpgsql security definer
  as $$
declare
  v_scope pg_catalog.bytea := case when p_key is not null then 'k'::pg_catalog.bytea when p_actor is not null then 's' else '\x00' end
    operator(pg_catalog.||) pg_catalog.uuid_send(p_tenant)
    operator(pg_catalog.||) pg_catalog.uuid_send(coalesce(p_key, p_actor, '00000000-0000-0000-0000-000000000000'));
  v_key pg_catalog.bytea;
  v_set pg_catalog.text;
begin
  select s.scope_key into v_key from app.seal s;
  v_set := pg_catalog.set_config('app.scope', coalesce(pg_catalog.encode(v_scope, 'hex'), ''), true);
  v_set := pg_catalog.set_config('app.scope_seal', coalesce(pg_catalog.encode(pg_catalog.sha256(
         v_key operator(pg_catalog.||) v_scope
               operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())
               operator(pg_catalog.||) pg_catalog.boolsend(pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on')), 'hex'), ''), true);
end
$$;
comment on function app.set_tenant is
  'owner: identity_gate; proof: none; callers: identity_owner; definer: reads the key that seals the scope; '
  'qualified: every entry into a tenant calls it';

-- Tickets and proofs. A ticket says what a check found: the session of a request, the lease of a job, or the reason of an operator. The
-- database seals it for 30 seconds, longer than a request can last. A proof says the same to another service for a minute, under
-- a key of its own: no function takes it for a ticket, and no function takes a ticket for a proof (0021).
-- This section alone knows their bytes and their seals. Every other function asks app.check_ticket.
--    1      kind: s is a session, k an API key, j a job, o an operator
--    2-17   tenant, or zeros
--   18-33   principal: the user of a session, or the key. A job and an operator have zeros
--   34-49   session, or zeros
--   50-53   role of a session, generation of a key, or zeros
--   54      how the user of a session signed in: p is by password
--   55-62   when they signed in
--   63      what a job or an operator may do: w is write, r is read. Zero for a session, whose role says it, and for a key
--   64-71   when it expires
--   72-103  the seal of the bytes before it
-- A time is a number of microseconds since 2000 in eight bytes, so the order of the bytes is the order of time.

-- Seals a ticket. A session has all but p_may_write. A key has a tenant, itself as p_principal, and as p_role the generation that was
-- sent (0027). A job and an operator have a tenant and p_may_write. Returns null for another kind.
create function app.seal_ticket(
    p_kind text, p_tenant uuid, p_principal uuid default null, p_session uuid default null, p_role integer default null,
    p_method text default null, p_signed_in_at timestamptz default null, p_may_write boolean default null)
  returns bytea
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_body bytea := case p_kind when 'session' then 's'::bytea when 'key' then 'k' when 'job' then 'j' when 'operator' then 'o' end
    || coalesce(uuid_send(p_tenant), '\x00000000000000000000000000000000')
    || coalesce(uuid_send(p_principal), '\x00000000000000000000000000000000')
    || coalesce(uuid_send(p_session), '\x00000000000000000000000000000000')
    || int4send(coalesce(p_role, 0))
    || case p_method when 'password' then 'p'::bytea else '\x00' end
    || coalesce(timestamptz_send(p_signed_in_at), '\x0000000000000000')
    || case p_may_write when true then 'w'::bytea when false then 'r' else '\x00' end
    || timestamptz_send(clock_timestamp() + interval '30 seconds');
begin
  return v_body || sha256((select s.ticket_key from app.seal s) || v_body);
end
$$;
comment on function app.seal_ticket is 'callers: identity_gate';

-- Returns whether the key sealed a ticket or proof. Postgres puts the expression in line where it is called.
create function app.is_sealed(p_key bytea, p_ticket bytea) returns boolean
  language sql immutable
  return substr(p_ticket, 72) = sha256(p_key || substr(p_ticket, 1, 71));
comment on function app.is_sealed is 'callers: identity_gate';

-- Returns what a ticket was sealed for, with null for what it lacks. Raises TN500 unless this database sealed it as one of the kinds that
-- the caller names, and TN401 when it expired.
create function app.check_ticket(
    p_ticket bytea, variadic p_kinds text[], out kind text, out tenant_id uuid, out user_id uuid, out session_id uuid,
    out role_id integer, out method text, out signed_in_at timestamptz, out may_write boolean, out key_id uuid, out generation integer)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key bytea;
begin
  select s.ticket_key into v_key from app.seal s;
  if app.is_sealed(v_key, p_ticket) is not true then
    raise exception 'this database did not seal the ticket' using errcode = 'TN500';
  end if;
  kind := case substr(p_ticket, 1, 1) when 's' then 'session' when 'k' then 'key' when 'j' then 'job' when 'o' then 'operator' end;
  if (kind = any (p_kinds)) is not true then
    raise exception 'the ticket is of another kind' using errcode = 'TN500';
  end if;
  if substr(p_ticket, 64, 8) < timestamptz_send(clock_timestamp()) then
    raise exception 'the ticket expired' using errcode = 'TN401';
  end if;
  tenant_id := nullif(encode(substr(p_ticket, 2, 16), 'hex')::uuid, '00000000-0000-0000-0000-000000000000');
  if kind = 'key' then
    key_id := encode(substr(p_ticket, 18, 16), 'hex');
    generation := ('x' || encode(substr(p_ticket, 50, 4), 'hex'))::bit(32)::integer;
    return;
  end if;
  if kind <> 'session' then
    may_write := substr(p_ticket, 63, 1) = 'w';
    return;
  end if;
  user_id := encode(substr(p_ticket, 18, 16), 'hex');
  session_id := encode(substr(p_ticket, 34, 16), 'hex');
  role_id := nullif(('x' || encode(substr(p_ticket, 50, 4), 'hex'))::bit(32)::integer, 0);
  method := case substr(p_ticket, 54, 1) when 'p' then 'password' end;
  signed_in_at := timestamptz '2000-01-01 00:00:00+00'
    + ('x' || encode(substr(p_ticket, 55, 8), 'hex'))::bit(64)::bigint * interval '1 microsecond';
end
$$;
comment on function app.check_ticket is
  'owner: identity_gate; proof: ticket; callers: identity_resolver; definer: reads the key that seals tickets';

-- Sets the tenant and the actor of a ticket for a read. Requires a READ ONLY transaction. The mode is part of the seal (byte 01), so
-- app.current_tenant refuses the scope of a read where the transaction writes. It checks no table again: the session check found the ticket's tenant in this request.
-- Every read calls it, so it repeats app.check_ticket and app.set_tenant in line and with qualified names.
create function app.enter_to_read(p_ticket bytea) returns void
  language plpgsql security definer
  as $$
declare
  v_scope_key pg_catalog.bytea;
  v_ticket_key pg_catalog.bytea;
  v_set pg_catalog.text;
begin
  select s.scope_key, s.ticket_key into v_scope_key, v_ticket_key from app.seal s;
  if app.is_sealed(v_ticket_key, p_ticket)
     and pg_catalog.substr(p_ticket, 1, 1) operator(pg_catalog.=) any ('{s,k,j,o}'::pg_catalog.bytea[])
     and pg_catalog.substr(p_ticket, 64, 8) operator(pg_catalog.>) pg_catalog.timestamptz_send(pg_catalog.clock_timestamp())
     and pg_catalog.substr(p_ticket, 2, 16) operator(pg_catalog.<>) '\x00000000000000000000000000000000'::pg_catalog.bytea
     and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on' then
    v_set := pg_catalog.set_config('app.scope', pg_catalog.encode(pg_catalog.substr(p_ticket, 1, 33), 'hex'), true);
    v_set := pg_catalog.set_config('app.scope_seal', pg_catalog.encode(pg_catalog.sha256(v_scope_key
      operator(pg_catalog.||) pg_catalog.substr(p_ticket, 1, 33)
      operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())
      operator(pg_catalog.||) '\x01'::pg_catalog.bytea), 'hex'), true);
    return;
  end if;
  perform app.check_ticket(p_ticket, 'session', 'key', 'job', 'operator');
  raise exception 'a read needs a ticket with a tenant, and a READ ONLY transaction' using errcode = 'TN500';
end
$$;
comment on function app.enter_to_read is
  'owner: identity_gate; proof: ticket; callers: identity_app, identity_worker, identity_operator, identity_vault; '
  'definer: reads the keys that seal tickets and the scope; qualified: every read calls it';

-- Returns the proof of a ticket for another service. Requires a ticket that app.check_ticket accepted.
create function app.proof_of_ticket(p_ticket bytea) returns bytea
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_body bytea := substr(p_ticket, 1, 63) || timestamptz_send(clock_timestamp() + interval '1 minute');
begin
  return v_body || sha256((select s.proof_key from app.seal s) || v_body);
end
$$;
comment on function app.proof_of_ticket is 'callers: identity_gate';

-- Returns a proof as a ticket, for app.check_ticket and app.enter_to_write. Raises TN500 unless this database sealed the proof.
create function app.ticket_of_proof(p_proof bytea) returns bytea
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_body bytea := substr(p_proof, 1, 71);
  v_seal bytea;
begin
  select sha256(s.ticket_key || v_body) into v_seal from app.seal s where app.is_sealed(s.proof_key, p_proof);
  if not found then
    raise exception 'this database did not seal the proof' using errcode = 'TN500';
  end if;
  return v_body || v_seal;
end
$$;
comment on function app.ticket_of_proof is 'callers: identity_gate';

-- Returns the tenant of the transaction. Raises TN500 without one. For functions whose result depends on the tenant.
create function app.required_tenant() returns uuid
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_tenant uuid := app.current_tenant();
begin
  if v_tenant is null then
    raise exception 'the transaction has no tenant' using errcode = 'TN500';
  end if;
  return v_tenant;
end
$$;
comment on function app.required_tenant is 'callers: identity_app, identity_gate';

-- A trigger function that refuses every change. The trigger says when, and its argument says why.
create function app.refuse_change() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  raise exception '%', tg_argv[0] using errcode = '23514';
end
$$;
comment on function app.refuse_change is 'callers: none';

-- Enables and forces row security on a table. The service's roles, and those of other services, then see and write only rows of
-- the transaction's tenant, and none while no tenant is set. Calling it again restores removed policies and settings. It runs with
-- the privileges of its caller, who must own the table.
--   p_column       the column with the tenant's id (`id` for app.tenants)
--   p_system_rows  whether rows with a null tenant belong to the platform: every tenant reads them, none writes them
-- ALTER TABLE runs last, and only if it changes something, because it fires the event trigger below.
create function app.enforce_tenant(p_table regclass, p_column name default 'tenant_id', p_system_rows boolean default false)
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  roles text := 'identity_app, identity_worker, identity_operator, identity_vault, tenant_bound';
  own text := format('%I = (select app.current_tenant())', p_column);
  readable text := case when p_system_rows
    then format('%1$s or (%2$I is null and (select app.current_tenant()) is not null)', own, p_column)
    else own end;
  -- Postgres looks at the mode when a statement begins. One that then changes it, and enters to read, would write.
  writable text := own || ' and (select current_setting(''transaction_read_only'')) = ''off''';
begin
  execute format('drop policy if exists tenant_read on %s', p_table);
  execute format('drop policy if exists tenant_insert on %s', p_table);
  execute format('drop policy if exists tenant_update on %s', p_table);
  execute format('drop policy if exists tenant_delete on %s', p_table);
  execute format('create policy tenant_read on %s for select to %s using (%s)', p_table, roles, readable);
  execute format('create policy tenant_insert on %s for insert to %s with check (%s)', p_table, roles, writable);
  execute format('create policy tenant_update on %s for update to %s using (%s) with check (%s)', p_table, roles, own, writable);
  execute format('create policy tenant_delete on %s for delete to %s using (%s)', p_table, roles, writable);
  if not (select c.relrowsecurity and c.relforcerowsecurity from pg_class c where c.oid = p_table) then
    execute format('alter table %s enable row level security, force row level security', p_table);
  end if;
end
$$;
comment on function app.enforce_tenant is 'callers: tenant_table_owner';

-- Runs after a statement that creates or changes a partition. Gives the partition the row security, tenant policies and
-- owner of its parent, and revokes every grant on it. PostgreSQL copies none of these to a partition. Covers partitions of
-- partitions. Runs with the privileges of the role that runs the statement.
create function app.guard_partitions() returns event_trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v record;
  v_grantees text;
begin
  for v in
    select distinct c.oid::regclass as name, guard.*, c.relowner
      from pg_event_trigger_ddl_commands() as command
      cross join lateral pg_partition_tree(command.objid) as tree
      join pg_class c on c.oid = tree.relid and c.relispartition
      cross join lateral (
        select parent.relowner as owner, a.attname as tenant_column,
               exists (select from pg_policy r where r.polrelid = parent.oid and r.polname = 'tenant_read'
                          and pg_get_expr(r.polqual, r.polrelid) like '% IS NULL%') as system_rows
          from pg_partition_ancestors(c.oid) as above
          join pg_class parent on parent.oid = above.relid
          join pg_policy p on p.polrelid = parent.oid and p.polname = 'tenant_insert'
           and pg_get_expr(p.polwithcheck, p.polrelid) like '%app.current_tenant()%'
          join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid
           and d.refclassid = 'pg_class'::regclass and d.refobjid = parent.oid and d.refobjsubid > 0
          join pg_attribute a on a.attrelid = parent.oid and a.attnum = d.refobjsubid
         where above.relid <> c.oid
         limit 1
      ) as guard
     where command.object_type in ('table', 'foreign table') and (
             not (c.relrowsecurity and c.relforcerowsecurity)
          or c.relowner <> guard.owner
          or 4 > (select count(*) from pg_policy p where p.polrelid = c.oid
                     and p.polname in ('tenant_read', 'tenant_insert', 'tenant_update', 'tenant_delete'))
          or exists (select from aclexplode(c.relacl) x where x.grantee <> c.relowner)
          or exists (select from pg_attribute a, aclexplode(a.attacl) x
                      where a.attrelid = c.oid and x.grantee <> c.relowner))
  loop
    if v.relowner <> v.owner then
      execute format('alter table %s owner to %I', v.name, pg_get_userbyid(v.owner));
    end if;
    perform app.enforce_tenant(v.name, v.tenant_column, v.system_rows);
    select string_agg(distinct case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end, ', ')
      into v_grantees
      from (select relacl as acl from pg_class where oid = v.name
            union all select attacl from pg_attribute where attrelid = v.name) as held, aclexplode(held.acl) x
     where x.grantee <> v.owner;
    if v_grantees is not null then
      execute format('revoke all on %s from %s cascade', v.name, v_grantees);
    end if;
  end loop;
end
$$;
comment on function app.guard_partitions is 'callers: none';

select app.give(
  'app.renew_seal', 'app.current_tenant', 'app.current_actor', 'app.acting_user', 'app.acting_key', 'app.set_tenant', 'app.required_tenant', 'app.refuse_change',
  'app.enforce_tenant', 'app.guard_partitions', 'app.seal_ticket', 'app.is_sealed',
  'app.check_ticket', 'app.enter_to_read', 'app.proof_of_ticket', 'app.ticket_of_proof');

-- Only a superuser may create an event trigger; on Aurora, rds_superuser may too. Without the trigger, a partition that
-- somebody creates by hand has neither guard nor grants, and `npm run doctor` reports it.
reset role;
do $$
begin
  create event trigger guard_partitions on ddl_command_end
    when tag in ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA')
    execute function app.guard_partitions();
exception when insufficient_privilege then
  raise warning 'the event trigger guard_partitions was not created: % may not create one. A partition created by hand gets no guard', current_user;
end
$$;
