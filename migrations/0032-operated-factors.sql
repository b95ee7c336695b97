-- What operators do with the second factors of users. None of these functions shows a secret that is not sealed.
set local role identity_owner;

-- Returns the factors of the user with an address, oldest first, each with what is left of the recovery codes, and the open reset. Returns one row of nulls for a
-- user without a factor, and none for no user.
create function app.factors_of_email(p_email text)
  returns table (user_id uuid, kind text, created_at timestamptz, last_used_at timestamptz, wrong_codes integer, key_id uuid,
                 codes_left integer, codes_created_at timestamptz, reset_requested_at timestamptz, reset_effective_at timestamptz)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select u.id, f.kind, f.created_at, f.last_used_at, f.wrong_codes, f.key_id, app.codes_left(u.id),
           (select max(t.created_at) from app.tokens t where t.user_id = u.id and t.purpose = 'recovery_code'), r.requested_at, r.effective_at
      from app.users u left join app.factors f on f.user_id = u.id
      left join app.factor_resets r on r.user_id = u.id and r.cancelled_at is null and r.done_at is null
     where u.email = p_email
     order by f.created_at, f.id;
end
$$;
comment on function app.factors_of_email is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: reads factors, which no login may';

-- Returns up to p_batch factors of another factor key, in the order of their ids from the one after p_after on. A passkey has no secret, but a
-- witness.
create function app.factors_under_other_keys(p_key_id uuid, p_after uuid, p_batch integer)
  returns table (factor_id uuid, user_id uuid, key_id uuid, sealed_secret bytea)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select f.id, f.user_id, f.key_id, f.sealed_secret from app.factors f
     where f.key_id <> p_key_id and f.id > p_after
     order by f.id limit p_batch;
end
$$;
comment on function app.factors_under_other_keys is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: reads factors, which no login may';

-- Replaces the seal of an app, and the witness of any factor, by those of another key. The witness under the previous key proves that the
-- caller has that key. Returns false when the factor is gone. Raises TN500 for a witness that is not the factor's.
create function app.reseal_factor(p_factor uuid, p_witness bytea, p_sealed bytea, p_key_id uuid, p_witness_hash bytea)
  returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.factors f set sealed_secret = p_sealed, key_id = p_key_id, witness_hash = p_witness_hash
   where f.id = p_factor and f.witness_hash = sha256(p_witness);
  if found then
    return true;
  end if;
  if exists (select from app.factors f where f.id = p_factor and f.key_id <> p_key_id) then
    raise exception 'a new seal of a factor without its witness' using errcode = 'TN500';
  end if;
  return false;
end
$$;
comment on function app.reseal_factor is
  'owner: identity_gate; proof: witness; callers: identity_auth, identity_operator; definer: writes a factor, which no login may';

-- Voids the recovery codes of up to p_batch users whose codes are older than a time. Mails each, and leaves an entry in each of their tenants.
-- Returns how many users there were.
create function app.void_recovery_codes(p_created_before timestamptz, p_after jsonb, p_batch integer, p_source app.source) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_users uuid[];
begin
  with voided as (
    update app.tokens t set expires_at = now()
     where t.purpose = 'recovery_code' and t.consumed_at is null and t.expires_at > now() and t.created_at < p_created_before
       and t.user_id in (select o.user_id from app.tokens o
                          where o.purpose = 'recovery_code' and o.consumed_at is null and o.expires_at > now()
                            and o.created_at < p_created_before
                          group by o.user_id order by o.user_id limit p_batch)
    returning t.user_id
  )
  select coalesce(array_agg(distinct v.user_id), '{}') into v_users from voided v;
  insert into app.audit_log (tenant_id, action, target_type, target_id, after, request_id)
  select m.tenant_id, 'user.recovery_codes_voided', 'user', m.user_id, p_after, p_source.request_id
    from app.memberships m where m.user_id = any (v_users) and m.accepted_at is not null and m.revoked_at is null;
  perform app.mail_change(u, 'codes-voided') from unnest(v_users) as u;
  return cardinality(v_users);
end
$$;
comment on function app.void_recovery_codes is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: writes tokens of all users';

select app.give(
  'app.factors_of_email', 'app.factors_under_other_keys', 'app.reseal_factor', 'app.void_recovery_codes');
