import { STAGES } from '#infra/stages.ts'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type PreparedDatabase, prepareDatabase } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { SEED_PASSWORD, seed, seedEmails } from '#infra/local/seed.ts'
import { parseConfig, SETTINGS, settingsIn } from '#shared/base/config.ts'
import { newToken, hashToken } from '#shared/secret/secret.ts'
import type { Cleanup } from './cleanup.ts'

/** Of the tenants that the benchmark adds to the local seed. */
export const SHAPE = { tenants: 200, members: 50, users: 2000, sessions: 20_000 }

// Sessions without load: counting statements changes and ends them.
const SPARE_SESSIONS = 500

const ROLE_PASSWORD = 'bench-role-password'

/** The settings of every measured service: the defaults, prod's step of the idle expiry, and rate limits that no run reaches. */
export const SERVICE_ENV: Readonly<Record<string, string>> = {
  DATABASE_TLS: 'disable',
  SESSION_SLIDE_STEP_SECONDS: STAGES.prod.settings.SESSION_SLIDE_STEP_SECONDS,
  ...Object.fromEntries(
    settingsIn(SETTINGS)
      // Nobody has a second factor here, and those limits have a highest value.
      .filter(({ name }) => /_(LIMIT|BURST)$/.test(name) && !name.startsWith('SECOND_FACTOR_'))
      .map(({ name }) => [name, '999999999']),
  ),
}

/** A Postgres server with the data of the benchmark. */
export interface Fixture {
  readonly port: number
  /** The process id of the postmaster. */
  readonly pid: number
  readonly databaseUrl: string
  readonly urls: PreparedDatabase['urls']
  readonly pepper: string
  /** Tokens of live sessions, each with a selected tenant. */
  readonly tokens: readonly string[]
  readonly spareTokens: readonly string[]
  /** Users that can sign in, their common password, and the first user's hash of it. */
  readonly emails: readonly string[]
  readonly password: string
  readonly hash: string
}

/** Starts and fills the server. The cleanup deletes it. */
export async function startFixture(cleanup: Cleanup): Promise<Fixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-bench-'))
  cleanup.add(() => rm(folder, { recursive: true, force: true }))
  // If root starts it, Postgres runs as nobody, who must be able to enter the folder.
  await chmod(folder, 0o711)
  const server = await startPostgres({ dataDir: join(folder, 'data'), durable: true })
  cleanup.add(() => server.stop('immediate'))
  const { databaseUrl, urls } = await prepareDatabase(server.adminUrl, {
    name: 'bench',
    rolePassword: ROLE_PASSWORD,
  })
  const pepper = `${newToken()}${newToken()}`
  const tokens = Array.from({ length: SHAPE.sessions }, newToken)
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await seed(sql, parseConfig(SERVICE_ENV).argon2)
  await fill(
    sql,
    tokens.map((token) => hashToken(pepper, token).toString('hex')),
  )
  const emails = seedEmails.slice(0, 8)
  const [user] = await sql<{ password_hash: string }[]>`
    select password_hash from app.users where email = ${emails[0] ?? ''}`
  await sql`vacuum analyze`
  await sql`checkpoint`
  await sql.end()
  return {
    port: server.port,
    pid: server.pid(),
    databaseUrl,
    urls,
    pepper,
    tokens: tokens.slice(SPARE_SESSIONS),
    spareTokens: tokens.slice(0, SPARE_SESSIONS),
    emails,
    password: SEED_PASSWORD,
    hash: user?.password_hash ?? '',
  }
}

/** Adds tenants, members (each user in several tenants) and a session for each token hash to the local seed. */
async function fill(sql: postgres.Sql, tokenHashes: readonly string[]): Promise<void> {
  const { tenants, members, users } = SHAPE
  await sql`
    insert into app.tenants (slug, legal_name, status)
    select 'bench-' || n, 'Bench Tenant ' || n, 'active' from generate_series(1, ${tenants}::int) n`
  await sql`
    insert into app.users (email, full_name, email_verified_at)
    select 'person' || n || '@bench.test', 'Person ' || n, now() from generate_series(1, ${users}::int) n`
  await sql`
    with tenant as (select id, row_number() over (order by id) - 1 as n from app.tenants where legal_name like 'Bench %'),
         person as (select id, row_number() over (order by id) - 1 as n from app.users where full_name like 'Person %')
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
    select tenant.id, person.id, case when j = 0 then 1 when j < 4 then 2 else 3 + j % 5 end, now()
      from tenant cross join generate_series(0, ${members - 1}::int) j
      join person on person.n = (tenant.n * ${users / tenants}::int + j) % ${users}::int`
  await sql`
    with member as (
      select m.user_id, m.tenant_id, row_number() over (order by m.id) - 1 as n
        from app.memberships m join app.users u on u.id = m.user_id where u.full_name like 'Person %'
    )
    insert into app.sessions
      (token_key, user_id, tenant_id, idle_expires_at, absolute_expires_at, csrf_secret, ip_hash, user_agent)
    select decode(key, 'hex'), user_id, tenant_id, now() + interval '12 hours', now() + interval '7 days',
           decode(key, 'hex'), decode(key, 'hex'), 'bench'
      from unnest(${[...tokenHashes]}::text[]) with ordinality as k(key, i)
      join member on member.n = k.i % ${tenants * members}::int`
}
