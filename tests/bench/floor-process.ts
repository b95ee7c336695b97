import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { hashToken } from '#shared/secret/secret.ts'
import { givenOptions, serveAt } from './processes.ts'

/** The options of the floor's process. */
export interface FloorOptions {
  /** The URL for a superuser, who bypasses row-level security. */
  readonly databaseUrl: string
  readonly pepper: string
  readonly connections: number
  /** Calls a function that also moves the expiry, without waiting for the disk, in place of the SELECT. */
  readonly slides?: boolean
}

interface Row {
  session_id: string
  idle_expires_at: Date
  absolute_expires_at: Date
  user_id: string
  email: string
  email_verified_at: Date | null
  full_name: string | null
  avatar_url: string | null
  tenant_id: string | null
  slug: string
  legal_name: string
  status: string
  timezone: string
  currency: string
  role_id: number
  role_code: string
  role_label: string
  role_rank: number
  permissions: string[]
}

// The minimum cost of a response to GET /v1/auth/session on this stack: one prepared statement, no checks.
const { databaseUrl, pepper, connections, slides = false } = givenOptions() as FloorOptions
const connection = slides ? { synchronous_commit: 'off' } : {}
const sql = postgres(databaseUrl, { max: connections, connection, onnotice: () => {} })

const LIVE = `s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()`
const SELECT = `
  select s.id as session_id, s.idle_expires_at, s.absolute_expires_at,
         u.id as user_id, u.email, u.email_verified_at, u.full_name, u.avatar_url,
         t.id as tenant_id, t.slug, t.legal_name, t.status, t.timezone, t.currency,
         r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank,
         array(select p.permission from app.role_permissions p where p.role_id = r.id) as permissions
    from app.sessions s
    join app.users u on u.id = s.user_id
    left join app.tenants t on t.id = s.tenant_id
    left join app.memberships m on m.tenant_id = s.tenant_id and m.user_id = s.user_id and m.revoked_at is null
    left join app.roles r on r.id = m.role_id
   where s.token_key = $1 and u.disabled_at is null and ${LIVE}`

if (slides) {
  await sql.unsafe(`
    create schema if not exists floor;
    create or replace view floor.sessions as ${SELECT.replace('s.token_key = $1', 'true').replace('select s.id', 'select s.token_key, s.id')};
    create or replace function floor.read_session(p_key bytea) returns setof floor.sessions language plpgsql rows 1 as $$
    begin
      update app.sessions s
         set idle_expires_at = least(now() + interval '12 hours', s.absolute_expires_at), last_seen_at = now()
       where s.token_key = p_key and ${LIVE};
      return query select * from floor.sessions f where f.token_key = p_key;
    end $$`)
}
const STATEMENT = slides ? 'select * from floor.read_session($1)' : SELECT

interface MemberRow {
  id: string
  user_id: string
  email: string
  full_name: string | null
  avatar_url: string | null
  disabled: boolean
  role_id: number
  role_code: string
  role_label: string
  role_rank: number
  invited_by: string | null
  accepted_at: Date
  revoked_at: Date | null
  created_at: Date
}

// The same for GET /v1/members.
const MEMBERS = `
  select m.id, u.id as user_id, u.email, u.full_name, u.avatar_url, u.disabled_at is not null as disabled,
         r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank,
         m.invited_by, m.accepted_at, m.revoked_at, m.created_at
    from app.sessions s
    join app.memberships m on m.tenant_id = s.tenant_id and m.accepted_at is not null and m.revoked_at is null
    join app.users u on u.id = m.user_id
    join app.roles r on r.id = m.role_id
   where s.token_key = $1 and ${LIVE}
   order by m.created_at, m.id
   limit 51`

async function listMembers(key: Buffer): Promise<string> {
  const rows = await sql.unsafe<MemberRow[]>(MEMBERS, [key], { prepare: true })
  const data = rows.map((row) => ({
    id: row.id,
    user: {
      id: row.user_id,
      email: row.email,
      full_name: row.full_name,
      avatar_url: row.avatar_url,
      disabled: row.disabled,
    },
    role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
    invited_by: row.invited_by,
    accepted_at: row.accepted_at,
    revoked_at: row.revoked_at,
    created_at: row.created_at,
  }))
  return JSON.stringify({ data, next_cursor: null })
}

/** The rows that an invitation adds, in one transaction: its token, its job, and the audit entry, which adds the event. */
const invite = (key: Buffer, email: string): Promise<string | null> =>
  sql.begin(async (tx) => {
    const [token] = await tx<{ id: string; tenant_id: string; invited_by: string; expires_at: Date }[]>`
      insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, invited_by, expires_at)
      select sha256(uuid_send(gen_random_uuid())), 'invite', s.tenant_id, ${email}, 3, s.user_id, now() + interval '7 days'
        from app.sessions s where s.token_key = ${key} and s.revoked_at is null
          on conflict (tenant_id, email) where purpose = 'invite' and consumed_at is null
          do update set token_hash = excluded.token_hash
      returning id, tenant_id, invited_by, expires_at`
    if (token === undefined) return null
    const { id, tenant_id, invited_by } = token
    await Promise.all([
      tx`
        insert into app.jobs (tenant_id, kind, payload, idempotency_key)
        values (${tenant_id}, 'mail', jsonb_build_object('invitation_id', ${id}::uuid), gen_random_uuid())`,
      tx`
        insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id)
        values (${tenant_id}, ${invited_by}, 'invitation.created', 'invitation', ${id}, '{"role": "sales"}', ${id})`,
    ])
    return JSON.stringify({ ...token, email, role: 'sales', status: 'pending' })
  })

async function readSession(key: Buffer): Promise<string | null> {
  const [row] = await sql.unsafe<Row[]>(STATEMENT, [key], { prepare: true })
  if (row === undefined) return null
  const { session_id, idle_expires_at, absolute_expires_at } = row
  const { user_id, email, email_verified_at, full_name, avatar_url } = row
  const { tenant_id, slug, legal_name, status, timezone, currency } = row
  return JSON.stringify({
    session: { id: session_id, idle_expires_at, absolute_expires_at },
    user: { id: user_id, email, email_verified_at, full_name, avatar_url },
    tenant: { id: tenant_id, slug, legal_name, status, timezone, currency },
    role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
    permissions: row.permissions,
  })
}

async function respond(request: IncomingMessage): Promise<string | null> {
  const key = hashToken(pepper, request.headers.authorization?.slice('Bearer '.length) ?? '')
  if (request.url?.startsWith('/v1/members?') === true) return listMembers(key)
  if (request.method === 'GET') return readSession(key)
  const { email }: { email: string } = JSON.parse(await text(request))
  return invite(key, email)
}

function answer(response: ServerResponse, body: string | null): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body ?? '') }
  response.writeHead(body === null ? 401 : 200, headers).end(body ?? '')
}

const server = createServer((request, response) => {
  respond(request).then(
    (body) => answer(response, body),
    (error: unknown) => {
      console.error(error)
      response.writeHead(500).end()
    },
  )
})
server.listen(0, '127.0.0.1', () => serveAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
