import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { bringUp } from '#functions/workers/migrate/bring-up.ts'
import { loginOf, MIGRATIONS, urlFor } from '#infra/local/postgres/database.ts'
import { type Postgres, startPostgres } from '#infra/local/postgres/postgres.ts'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import type { Login, ReadLogin } from '#shared/db/login.ts'
import { readMigrations } from '#shared/db/migrate.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { log } from '#shared/base/log.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'

let admin: postgres.Sql
let cluster: Postgres
let owner: Login
const cleanups: (() => unknown)[] = []

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-migrate-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o711)
  // Roles belong to a cluster, so this test has its own. Its login is no superuser, as on Aurora.
  cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: false })
  cleanups.push(() => cluster.stop('immediate'))
  const root = postgres(cluster.adminUrl, { max: 1, onnotice: () => {} })
  await root`create role master login createrole createdb password 'master'`
  // As rds_superuser may.
  await root`grant pg_signal_backend to master with admin option`
  await root`create database tenantry owner master`
  await root.end()
  owner = loginOf(urlFor(cluster.adminUrl, { database: 'tenantry', user: 'master', password: 'master' }))
  admin = postgres(urlFor(cluster.adminUrl, { database: 'tenantry' }), { max: 1, onnotice: () => {} })
  cleanups.push(() => admin.end())
})
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

const ROLES = SERVICE_ROLES.map(loginName)

/** Calls bringUp with these versions of the roles' secrets. */
const up = (passwords: { AWSCURRENT: string; AWSPENDING?: string; AWSPREVIOUS?: string }, folder = MIGRATIONS) =>
  bringUp({
    owner: async () => owner,
    roles: ROLES.map(
      (username): ReadLogin =>
        async (version) => {
          const password = passwords[version]
          if (password === undefined) throw new Error('no such version')
          return { ...owner, username, password }
        },
    ),
    folder,
    security: { tls: 'disable', caFile: '' },
  })

const UNCHANGED = { applied: [], ahead: [], passwords: [] }

async function signIn(username: string, password: string): Promise<string> {
  const sql = postgres({ ...owner, database: owner.dbname, username, password, max: 1 })
  try {
    const [row] = await sql<{ name: string }[]>`select current_user as name`
    return row?.name ?? ''
  } finally {
    await sql.end()
  }
}

describe('bringUp', () => {
  it('migrates an empty database as a login without superuser and protects every table', async () => {
    const { applied, passwords } = await up({ AWSCURRENT: 'one' })
    expect(applied[0]).toBe('0001-database-roles.sql')
    expect(passwords).toEqual(ROLES)
    for (const role of ROLES) expect(await signIn(role, 'one')).toBe(role)
    expect(await checkCatalogue(admin)).toEqual([])
  })

  it('changes nothing when the database is up to date', async () => {
    expect(await up({ AWSCURRENT: 'one' })).toEqual(UNCHANGED)
  })

  it('creates a missing partition', async () => {
    await admin`drop table ${admin('app.audit_log_' + (await thisYear()))}`
    await up({ AWSCURRENT: 'one' })
    expect(await admin`select to_regclass(${'app.audit_log_' + (await thisYear())}) as table`).not.toEqual([
      { table: null },
    ])
  })

  it('creates a missing partition after a transaction that reads the audit log, and holds up no write until then', async () => {
    await admin`drop table ${admin('app.audit_log_' + (await thisYear()))}`
    const reader = postgres(urlFor(cluster.adminUrl, { database: 'tenantry' }), { max: 1, onnotice: () => {} })
    onTestFinished(() => reader.end())
    let isUp = false
    const running = await reader.begin(async (sql) => {
      await sql`select from app.audit_log`
      const started = up({ AWSCURRENT: 'one' })
      started.then(
        () => (isUp = true),
        () => {},
      )
      const waiting = () =>
        admin`select from pg_locks where not granted and relation = 'app.audit_log_default'::regclass`
      while ((await waiting()).length === 0) await delay(10)
      await admin.begin(async (write) => {
        await write`set local lock_timeout = '1500ms'`
        await write`lock table app.users in row exclusive mode`
      })
      expect(isUp).toBe(false)
      return [started] as const
    })
    await running[0]
    expect(await admin`select from pg_class where relname = ${'audit_log_' + (await thisYear())}`).toHaveLength(1)
  })

  it('fails and names the table that exposes rows to other tenants, and succeeds after the repair', async () => {
    await admin`alter table app.memberships no force row level security`
    await expect(up({ AWSCURRENT: 'one' })).rejects.toMatchObject({
      name: 'UnhealthyDatabase',
      message: expect.stringContaining('app.memberships: row security does not bind the owner'),
    })
    await admin`alter table app.memberships force row level security`
    expect(await up({ AWSCURRENT: 'one' })).toEqual(UNCHANGED)
  })

  it('keeps the passwords during a rotation', async () => {
    expect(await up({ AWSCURRENT: 'old', AWSPENDING: 'one' })).toEqual(UNCHANGED)
    for (const role of ROLES) expect(await signIn(role, 'one')).toBe(role)
  })

  it('sets the current password when the stored one matches no version of the secret', async () => {
    expect((await up({ AWSCURRENT: "tw'o", AWSPENDING: 'three' })).passwords).toEqual(ROLES)
    for (const role of ROLES) expect(await signIn(role, "tw'o")).toBe(role)
  })

  it('sends the server a verifier in place of each password', async () => {
    // With this setting the server would store the MD5 hash of any password that it receives.
    await admin`alter role master set password_encryption = 'md5'`
    await up({ AWSCURRENT: 'verified' })
    const stored = await admin<{ kind: string }[]>`
      select distinct split_part(rolpassword, '$', 1) as kind from pg_authid where rolname = any(${ROLES})`
    await admin`alter role master reset password_encryption`
    expect(stored).toEqual([{ kind: 'SCRAM-SHA-256' }])
    for (const role of ROLES) expect(await signIn(role, 'verified')).toBe(role)
  })
})

describe('bringUp of a release that is rolled back to', () => {
  // What this release does not list: a grant, a definer function, a setting of a role.
  const NEXT = `set local role identity_owner;
    grant select (password_hash) on app.users to identity_worker;
    create function app.next_count() returns bigint language plpgsql security definer
      set search_path = pg_catalog, pg_temp set client_min_messages = warning
      as $$ begin return (select count(*) from app.tenants); end $$;
    reset role;
    alter role identity_worker set lock_timeout = '1ms';`
  let next: string
  let name: string

  beforeAll(async () => {
    next = await mkdtemp(join(tmpdir(), 'tenantry-next-'))
    cleanups.push(() => rm(next, { recursive: true, force: true }))
    await cp(MIGRATIONS, next, { recursive: true })
    name = `${String((await readMigrations(MIGRATIONS)).length + 1).padStart(4, '0')}-next.sql`
    await writeFile(join(next, name), NEXT)
    // The next release fails in its examination, because its lists lack what its migration made.
    await up({ AWSCURRENT: 'n' })
    await expect(up({ AWSCURRENT: 'n' }, next)).rejects.toMatchObject({ name: 'UnhealthyDatabase' })
  })

  it('applies nothing, sets passwords, creates partitions, and says that the database is ahead', async () => {
    const warn = vi.spyOn(log, 'warn')
    onTestFinished(() => warn.mockRestore())
    await admin`drop table ${admin('app.audit_log_' + (await thisYear()))}`
    expect(await up({ AWSCURRENT: 'again' })).toEqual({ applied: [], ahead: [name], passwords: ROLES })
    expect(await admin`select to_regclass(${'app.audit_log_' + (await thisYear())}) as t`).not.toEqual([{ t: null }])
    expect(warn.mock.calls.flat()).toContainEqual(expect.stringMatching(`^${name}: a newer release applied it`))
  })

  it('still fails and names a table that exposes rows to other tenants', async () => {
    await admin`alter table app.memberships no force row level security`
    await expect(up({ AWSCURRENT: 'again' })).rejects.toMatchObject({
      name: 'UnhealthyDatabase',
      message: expect.stringMatching(/1 fault:\napp\.memberships: row security does not bind the owner/),
    })
    await admin`alter table app.memberships force row level security`
  })
})

async function thisYear(): Promise<string> {
  const [row] = await admin<{ year: string }[]>`select to_char(now(), 'YYYY') as year`
  return row?.year ?? ''
}
