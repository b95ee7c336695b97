import { createHash, randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { createTenantWith } from '#tests/support/minted-session.ts'
import { sessionTicketFor, ticketFor, ticketOf } from '#tests/support/proof.ts'
import { createServiceLogin } from '#tests/support/service-login.ts'
import { expired, ofKind } from './forged-tickets.ts'
import { createTwoTenants } from './two-tenants.ts'

// Every function that a login may execute, with ids of tenant B and with tickets and proofs that nobody issued, in no tenant, in a read and
// in a write of tenant A; and every table, partition and view. What comes back is searched for texts and hashes of B, and B's rows
// are compared. Functions, tables and logins come from the catalogue.

const world = await createTwoTenants('as migrated')
const { own: A, other: B } = world
const shop = await createServiceLogin(world.admin, world.database.appUrl)
const notices: unknown[] = []
const sql = postgres(urlFor(inject('adminUrl'), { database: world.database.name }), {
  max: 1,
  onnotice: (notice) => notices.push(notice),
})
afterAll(async () => {
  await sql.end()
  await world.admin.unsafe(`drop role ${shop.role}`)
  await world.close()
})

const LOGINS = [...SERVICE_ROLES.map(loginName), shop.role]
const titleOf = (login: string): string => (login === shop.role ? 'another service' : login)

// What is B's, and what an attacker may know of it.
const MARK = 'beemarkbee'
const secret = (what: string): Buffer => createHash('sha256').update(`${MARK} ${what}`).digest()
const [person = { id: '' }] = await sql<{ id: string }[]>`
  insert into app.users (email, full_name, password_hash)
  values ('known@shop-b.test', ${`${MARK} name`}, ${`$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2E$${secret('password').toString('base64').replaceAll('=', '')}`})
  returning id`
await sql`insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${B}, ${person.id}, 1, now())`
await sql`update app.tenants set legal_name = ${`${MARK} legal`} where id = ${B}`
const [session = { id: '' }] = await sql<{ id: string }[]>`
  insert into app.sessions (token_key, csrf_secret, user_id, tenant_id, idle_expires_at, absolute_expires_at, user_agent)
  values (${secret('session')}, ${secret('csrf')}, ${person.id}, ${B}, now() + interval '1 day', now() + interval '1 day', ${MARK})
  returning id`
await sql`
  insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
  values (${secret('invite')}, 'invite', ${B}, ${`${MARK}@shop-b.test`}, 1, now() + interval '1 day')`
await sql`
  insert into app.styles (tenant_id, style_number, name, brand, category) values (${B}, ${MARK}, ${MARK}, ${MARK}, 'Test')`
await sql`
  insert into app.audit_log (tenant_id, action, target_type, request_id) values (${B}, 'a.b', 'c', ${MARK})`
const [job = { id: '' }] = await sql<{ id: string }[]>`
  insert into app.jobs (tenant_id, kind, payload, idempotency_key)
  values (${B}, 'planted', ${sql.json({ text: MARK })}, ${MARK}) returning id`
const ofA = await createTenantWith(sql, 'sales')
const keys = await sql<
  { key: Buffer }[]
>`select unnest(array[scope_key, ticket_key, proof_key, salt_key]) as key from app.seal`

const forms = (bytes: Buffer): string[] => [
  bytes.toString('hex'),
  bytes.toString('base64').replaceAll('=', ''),
  bytes.subarray(0, 8).join(' '),
]
const SOUGHT = [
  MARK,
  ...[...['password', 'session', 'csrf', 'invite'].map(secret), ...keys.map(({ key }) => key)].flatMap(forms),
]

const textOf = (seen: unknown): string =>
  JSON.stringify(seen, (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  ).replaceAll(/\{"type":"Buffer","data":\[([\d,]*)\]\}/g, (_all, data: string) =>
    Buffer.from(data.split(',').map(Number)).toString('hex'),
  )

const bytes = (value: Uint8Array | string): string =>
  `'\\x${typeof value === 'string' ? value : Buffer.from(value).toString('hex')}'::bytea`
const ticketOfB = (await sessionTicketFor(sql, B)).toString('hex')
const [proofOfB = { hex: '' }] = await sql<{ hex: string }[]>`
  select encode(app.service_proof(${await ticketOf(sql, session.id)}), 'hex') as hex`
const reseal = (hex: string): string => hex.slice(0, 142) + randomBytes(32).toString('hex')
await sql`begin`
const forged = [
  reseal(ticketOfB),
  reseal(proofOfB.hex),
  await ofKind(sql, ticketOfB, '6b'),
  await expired(sql, ticketOfB),
  await expired(sql, proofOfB.hex, 'proof_key'),
  ticketOfB.slice(0, -2),
  '00'.repeat(103),
  '00'.repeat(32),
  '',
]
await sql`rollback`

/** Values of each type: ids of B, what was forged, and a ticket of A. Any other type is null alone. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  uuid: [B, person.id, session.id, job.id, A].map((id) => `'${id}'`).concat('null'),
  bytea: [...forged.map(bytes), bytes(await ticketOf(sql, ofA.sales.id)), 'null'],
  'bytea[]': [`array[${forged.slice(0, 2).map(bytes).join()}]`, 'null'],
  text: [`'known@shop-b.test'`, `'mail'`, `'event'`, `'billing'`, `'a.b'`, `'${B}'`, `'member.manage'`, 'null'],
  'text[]': [`array['known@shop-b.test']`, 'null'],
  name: [`'${shop.role}'`],
  jsonb: [`'[]'`, `'{}'`, `'{"template":"password-changed","user_id":"${person.id}"}'`, 'null'],
  boolean: ['true', 'false'],
  integer: ['1', '100', '0'],
  smallint: ['1'],
  bigint: ['1', '100'],
  numeric: ['1'],
  xid8: [`'0'`],
  'double precision': ['1'],
  'timestamp with time zone': [`'-infinity'`, `'infinity'`, 'now()', 'null'],
  'app."limit"': [`(sha256('x'), 9, 9)::app.limit`],
  'app.source': [`('swept', null, null)::app.source`],
}
const MOST_CALLS = 60

/** Up to MOST_CALLS combinations of arguments: all, or every value with others at each place. */
function combinations(types: readonly string[]): string[][] {
  const values = types.map((type) => (VALUES[type] ?? ['null']).map((value) => `${value}::${type}`))
  const all = values.reduce((product, { length }) => product * length, 1)
  return Array.from({ length: Math.min(all, MOST_CALLS) }, (_, turn) => {
    let rest = all <= MOST_CALLS ? turn : Math.floor((turn * all) / MOST_CALLS) + turn
    return values.map((choices, place) => {
      const chosen = choices[rest % choices.length] ?? 'null'
      rest = Math.floor(rest / choices.length) + (all <= MOST_CALLS ? 0 : turn * (place + 1))
      return chosen
    })
  })
}

const guarded = await sql<{ name: string; condition: string }[]>`
  select c.oid::regclass::text as name,
         coalesce(min(format('%I = any ($1)', a.attname)) filter (where a.attname <> 'user_id'), 'false')
           || coalesce(min(format(' or user_id = any ($1)%s', case when c.relname = 'sessions' then ' and tenant_id is null' end))
                         filter (where a.attname = 'user_id' and (c.relname = 'sessions' or not exists (
                           select from pg_attribute o where o.attrelid = c.oid and o.attname = 'tenant_id' and o.attnotnull))), '') as condition
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.atttypid = 'uuid'::regtype
         and (a.attname in ('tenant_id', 'user_id') or c.relname in ('tenants', 'users') and a.attname = 'id')
   where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   group by c.oid order by 1`
const DIGEST = guarded
  .map(({ name, condition }) => `select '${name}' as name, t::text as row from ${name} t where ${condition}`)
  .join(' union all ')

/** Returns a hash of B's rows of each table. */
async function digest(): Promise<Record<string, string>> {
  const rows = await sql.unsafe<{ name: string; hash: string }[]>(
    `select name, md5(string_agg(row, '|' order by row)) as hash from (${DIGEST}) r group by 1 order by 1`,
    [[B, person.id]],
  )
  return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]))
}

const ticket = async () => bytes(await ticketFor(sql, A))
const proof = async () => {
  // The session check of a test moves it to a minute from now.
  await sql`update app.sessions set idle_expires_at = now() + interval '1 hour' where id = ${ofA.sales.id}`
  const [row] = await sql<{ proof: Buffer }[]>`select app.service_proof(${await ticketOf(sql, ofA.sales.id)}) as proof`
  return bytes(row?.proof ?? '')
}
const ENTERING = new Set(['identity_app', 'identity_worker', 'identity_operator', 'identity_vault', shop.role])
type Scope = 'no tenant' | 'a read' | 'a write'
const SCOPES: readonly Scope[] = ['no tenant', 'a read', 'a write']

/** Begins a transaction as the login, in a scope of A. */
async function enter(login: string, scope: Scope): Promise<void> {
  const entry =
    login === shop.role
      ? `app.enter(${await proof()}, 'deal.write')`
      : scope === 'a read'
        ? `app.enter_to_read(${await ticket()})`
        : `app.enter_to_write(${await ticket()}, null, false)`
  await sql.unsafe(`begin ${scope === 'a read' ? 'read only' : ''}; set local session authorization ${login}`)
  if (scope !== 'no tenant') await sql.unsafe(`select ${entry}`)
}

let calls = 0
/** Runs statements, each from the same state unless it `keeps`. Returns what they showed of B, and the tables in which they changed rows of B. */
async function sweep(login: string, scope: Scope, statements: readonly string[], alone: boolean) {
  const found = { shown: new Set<string>(), changed: new Set<string>(), done: 0 }
  const before = await digest()
  const compare = async () => {
    await sql.unsafe('reset session authorization')
    const after = await digest()
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (before[name] !== after[name]) found.changed.add(name)
  }
  for (const group of alone ? statements.map((statement) => [statement]) : [statements]) {
    await enter(login, scope)
    for (const statement of group) {
      calls += 1
      notices.length = 0
      const seen = await sql.unsafe(`savepoint s`).then(() =>
        sql.unsafe(statement).then(
          (rows) => {
            found.done += 1
            return rows
          },
          async (error: Error) => {
            await sql.unsafe('rollback to savepoint s')
            // The query of an error is the statement itself.
            return [error.message, Object.entries(error).filter(([key]) => key !== 'query')]
          },
        ),
      )
      const text = textOf([seen, notices])
      if (SOUGHT.some((value) => text.includes(value))) found.shown.add(statement)
    }
    await compare()
    await sql.unsafe('rollback')
  }
  return found
}

/** What shows or changes something of every tenant, and why. A test fails when one of them no longer does. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'identity_auth changes failed_sign_ins by sign_in': 'a wrong password is written down for its user',
  'identity_publisher changes events by enqueue_events': 'gives the events of all tenants to a job',
  'identity_operator is shown tenants': 'finds a tenant by its slug',
  'identity_operator is shown users': 'finds a user by an address',
}
const needed = new Set<string>()

/** Returns those that are no exceptions. */
const unexpected = (names: readonly string[]): string[] =>
  names.filter((name) => {
    if (name in EXCEPTIONS) needed.add(name)
    return !(name in EXCEPTIONS)
  })

const functions = (login: string) => sql<
  { name: string; short: string; call: string; types: string[]; variadic: boolean }[]
>`
  select p.oid::regprocedure::text as name, p.proname as short, format('%I.%I', n.nspname, p.proname) as call, p.provariadic <> 0 as variadic,
         array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as a(t, at) order by at) as types
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where n.nspname not in ('pg_catalog', 'information_schema') and p.prokind = 'f'
     and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
     and has_schema_privilege(${login}, n.oid, 'usage') and has_function_privilege(${login}, p.oid, 'execute')
   order by 1`

// It ends the connection of an open transaction: tests/shared/db/connection-reuse.test.ts.
const ENDS_THE_CONNECTION = 'app.clean()'

describe.each(LOGINS.map((login) => ({ login, title: titleOf(login) })))('as $title', ({ login, title }) => {
  const scopes = SCOPES.filter((scope) => ENTERING.has(login) || scope === 'no tenant')
  it.each(scopes)('no function shows or changes anything of another tenant, in %s', async (scope) => {
    const findings: string[] = []
    for (const { name, short, call, types, variadic } of await functions(login)) {
      if (name === ENDS_THE_CONNECTION) continue
      const statements = combinations(types).map((given) => {
        const last = variadic ? `variadic ${given.at(-1)}` : (given.at(-1) ?? '')
        return `select * from ${call}(${[...given.slice(0, -1), last].join(', ')})`
      })
      const { shown, changed } = await sweep(login, scope, statements, false)
      if (shown.size > 0) findings.push(`${title} is shown something by ${short}`)
      if (changed.size > 0) findings.push(`${title} changes ${[...changed].join()} by ${short}`)
    }
    expect(unexpected(findings)).toEqual([])
  })

  it.each(scopes)('no statement on a table shows or changes anything of another tenant, in %s', async (scope) => {
    const findings: string[] = []
    const tables = await sql<{ name: string; read: string | null; write: string | null; tenant: boolean }[]>`
      select c.oid::regclass::text as name,
             string_agg(quote_ident(a.attname), ', ') filter (where has_column_privilege(${login}, c.oid, a.attnum, 'select')) as read,
             string_agg(format('%I = %1$I', a.attname), ', ') filter (where has_column_privilege(${login}, c.oid, a.attnum, 'update')) as write,
             bool_or(a.attname = 'tenant_id') as tenant
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace in (
         select oid from pg_namespace where nspname not in ('pg_catalog', 'information_schema', 'pg_toast'))
       group by c.oid order by 1`
    expect(tables.length).toBeGreaterThan(40)
    for (const { name, read, write, tenant } of tables) {
      const statements = [
        `select * from ${name}`,
        `select ${read ?? 'count(*)'} from ${name}`,
        `insert into ${name} ${tenant ? `(tenant_id) values ('${B}')` : 'default values'}`,
        `update ${name} set ${write ?? 'xmin = xmin'}`,
        ...(tenant ? [`update ${name} set tenant_id = '${A}'`, `delete from ${name} where tenant_id = '${B}'`] : []),
        `delete from ${name}`,
      ]
      const { shown, changed } = await sweep(login, scope, statements, true)
      if (shown.size > 0) findings.push(`${title} is shown ${name}`)
      if (changed.size > 0) findings.push(`${title} changes ${[...changed].join()} in ${name}`)
    }
    expect(unexpected(findings)).toEqual([])
  })
})

it('needs each of its exceptions', () => {
  process.stdout.write(`the sweep made ${calls} calls and statements\n`)
  expect(Object.keys(EXCEPTIONS).filter((name) => !needed.has(name))).toEqual([])
  expect(calls).toBeGreaterThan(5000)
})
