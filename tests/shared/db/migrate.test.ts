import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { migrate, type Waits } from '#shared/db/migrate.ts'
import { log } from '#shared/base/log.ts'

const FIRST = { '0001-first.sql': 'create table first (n int); insert into first values (1);' }
const SECOND = { '0002-second.sql': 'create table second (n int);' }

const QUICK: Waits = {
  lockTimeoutMs: 50,
  tries: 3,
  pauseMs: 10,
  statementTimeoutMs: 10_000,
  otherRunMs: 10_000,
  totalMs: 20_000,
}

/** Returns an empty database and a folder with these files. */
async function prepared(files: Readonly<Record<string, string>>) {
  const adminUrl = inject('adminUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const cluster = postgres(adminUrl, { max: 1, onnotice: () => {} })
  await cluster`create database ${cluster(name)}`
  const url = urlFor(adminUrl, { database: name })
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  onTestFinished(async () => {
    await sql.end({ timeout: 1 })
    await cluster`drop database ${cluster(name)} with (force)`
    await cluster.end()
    await rm(folder, { recursive: true })
  })
  const write = async (more: Readonly<Record<string, string>>) => {
    for (const [file, text] of Object.entries(more)) await writeFile(join(folder, file), text)
  }
  await write(files)
  /** Returns the tables, and the migrations that are recorded as applied. */
  const state = async () => {
    const tables = await sql<{ name: string }[]>`
      select tablename as name from pg_tables where schemaname = 'public' order by 1`
    const applied = await sql<{ name: string }[]>`select name from migrations.applied order by 1`
    return { tables: tables.map(({ name }) => name), applied: applied.map(({ name }) => name) }
  }
  /** Runs and returns the names applied. */
  const runWith = async (waits: Partial<Waits>) => (await migrate(url, folder, { ...QUICK, ...waits })).applied
  const run = async () => (await migrate(url, folder)).applied
  return { folder, sql, url, write, state, run, runWith }
}

describe('migrate', () => {
  it('applies new files in order, and each file once', async () => {
    const { run, state, sql, write } = await prepared(FIRST)
    expect(await run()).toEqual(['0001-first.sql'])
    expect(await run()).toEqual([])
    await write(SECOND)
    expect(await run()).toEqual(['0002-second.sql'])
    expect(await run()).toEqual([])
    expect(await state()).toEqual({ tables: ['first', 'second'], applied: ['0001-first.sql', '0002-second.sql'] })
    expect(await sql`select n from first`).toHaveLength(1)
  })

  it('applies each file once when five runs start concurrently', async () => {
    const { run, sql } = await prepared({
      '0001-first.sql': `${FIRST['0001-first.sql']} select pg_sleep(0.05);`,
      ...SECOND,
    })
    const applied = await Promise.all(Array.from({ length: 5 }, run))
    expect(applied.filter(({ length }) => length > 0)).toEqual([['0001-first.sql', '0002-second.sql']])
    expect(await sql`select n from first`).toHaveLength(1)
  })

  // The owner sees no row of a guarded table, so each of these would otherwise change nothing and be recorded as applied.
  it.each([
    'update app.deals set number = 0',
    'delete from app.designs',
    'insert into app.styles (tenant_id, style_number, name, brand, category) select tenant_id, name, name, name, name from app.designs',
    'do $$ begin if exists (select from app.memberships) then raise notice $n$checked$n$; end if; end $$',
    'with gone as (delete from app.jobs returning 1) select count(*) from gone',
  ])('refuses a migration whose statement row security would filter: %s', async (statement) => {
    const { folder, run, state } = await prepared({})
    await cp('migrations', folder, { recursive: true })
    await run()
    const { applied } = await state()
    const probe = `${String(applied.length + 1).padStart(4, '0')}-probe.sql`
    await writeFile(join(folder, probe), `set local role identity_owner;\n${statement};`)
    await expect(run()).rejects.toThrow('query would be affected by row-level security policy')
    expect((await state()).applied).toEqual(applied)
    await writeFile(
      join(folder, probe),
      "set local role identity_owner;\nselect app.grant_permission('tag.read', 'sales');",
    )
    expect(await run()).toEqual([probe])
  })

  it('rejects a file that was changed after it was applied, and changes nothing', async () => {
    const { run, state, write } = await prepared(FIRST)
    await run()
    await write({ '0001-first.sql': `${FIRST['0001-first.sql']} -- changed`, ...SECOND })
    await expect(run()).rejects.toMatchObject({
      name: 'MigrationError',
      message: expect.stringContaining('0001-first.sql was changed'),
    })
    expect(await state()).toEqual({ tables: ['first'], applied: ['0001-first.sql'] })
  })

  it('rejects a missing file that was applied, and changes nothing', async () => {
    const { run, state, write, folder } = await prepared({ ...FIRST, ...SECOND })
    await run()
    await unlink(join(folder, '0002-second.sql'))
    await write({ '0002-other.sql': 'create table other (n int)', '0003-third.sql': 'create table third (n int)' })
    await expect(run()).rejects.toMatchObject({
      name: 'MigrationError',
      message: expect.stringContaining('0002-second.sql was applied, but its file is missing'),
    })
    expect((await state()).tables).toEqual(['first', 'second'])
  })

  it('accepts the migrations of a newer release after it is rolled back, whether its last one failed or not', async () => {
    const { url, folder, write, state, run } = await prepared(FIRST)
    await run()
    const THIRD = { '0003-third.sql': 'create table third (n int);' }
    await write({ ...SECOND, '0003-third.sql': 'create table third (n int); select 1 / 0;' })
    await expect(run()).rejects.toMatchObject({ code: '22012' })
    await unlink(join(folder, '0003-third.sql'))
    await unlink(join(folder, '0002-second.sql'))
    expect(await migrate(url, folder)).toEqual({ applied: [], ahead: ['0002-second.sql'] })
    await write({ ...SECOND, ...THIRD })
    expect(await migrate(url, folder)).toEqual({ applied: ['0003-third.sql'], ahead: [] })
    await unlink(join(folder, '0003-third.sql'))
    await unlink(join(folder, '0002-second.sql'))
    expect(await migrate(url, folder)).toEqual({ applied: [], ahead: ['0002-second.sql', '0003-third.sql'] })
    expect((await state()).tables).toEqual(['first', 'second', 'third'])
  })

  it.for([
    ['is missing', { ...FIRST, '0002-other.sql': 'select 1' }, '0002-second.sql was applied, but its file is missing'],
    ['was changed', { ...SECOND, '0001-first.sql': 'select 1' }, '0001-first.sql was changed'],
    ['was not applied', { ...FIRST, ...SECOND, '0003-third.sql': 'select 1' }, '0003-third.sql was not applied'],
  ] as const)('rejects a database that is ahead while an earlier file %s', async ([, files, named]) => {
    const { run, sql, write, folder } = await prepared({ ...FIRST, ...SECOND })
    await run()
    await sql`insert into migrations.applied (name, checksum) values ('0004-fourth.sql', 'of a newer release')`
    await unlink(join(folder, '0002-second.sql'))
    await write(files)
    await expect(run()).rejects.toMatchObject({ name: 'MigrationError', message: expect.stringContaining(named) })
  })

  it.for([
    [{ ...FIRST, '0003-third.sql': 'select 1' }, '0002'],
    [{ ...FIRST, '0001-again.sql': 'select 1' }, '0002'],
    [{ ...FIRST, '0002-Second.sql': 'select 1' }, '0002-Second.sql'],
    [{ ...FIRST, 'notes.md': 'a gap' }, 'notes.md'],
  ] as const)('rejects files that are no sequence before it applies any: %j', async ([files, named]) => {
    const { run, sql } = await prepared({ ...files, 'README.md': 'no migration' })
    await expect(run()).rejects.toMatchObject({ name: 'MigrationError', message: expect.stringContaining(named) })
    expect(await sql`select from pg_namespace where nspname = 'migrations'`).toHaveLength(0)
  })

  it('rolls back a migration that fails, keeps those before it, and continues once it is corrected', async () => {
    const { run, state, write } = await prepared({
      ...FIRST,
      '0002-second.sql': 'create table second (n int); insert into second values (1); select 1 / 0;',
    })
    await expect(run()).rejects.toMatchObject({ code: '22012' })
    expect(await state()).toEqual({ tables: ['first'], applied: ['0001-first.sql'] })
    await write(SECOND)
    expect(await run()).toEqual(['0002-second.sql'])
    expect((await state()).tables).toEqual(['first', 'second'])
  })

  it('logs the warnings of a migration and not its notices', async () => {
    const { run } = await prepared({
      '0001-first.sql': `do $$ begin raise notice 'a detail'; raise warning 'something is not there'; end $$`,
    })
    const warn = vi.spyOn(log, 'warn')
    onTestFinished(() => warn.mockRestore())
    await run()
    expect(warn.mock.calls).toEqual([['something is not there']])
  })

  it('keeps no advisory lock after a failure', async () => {
    const { run, sql } = await prepared({ '0001-first.sql': 'select 1 / 0' })
    await expect(run()).rejects.toMatchObject({ code: '22012' })
    await expect(run()).rejects.toMatchObject({ code: '22012' })
    expect(
      await sql`
        select from pg_locks where locktype = 'advisory'
           and database = (select oid from pg_database where datname = current_database())`,
    ).toHaveLength(0)
  })
})

describe('migrate beside functions that serve requests', () => {
  const ALTER = { '0002-second.sql': 'create table second (n int); alter table first add m int;' }

  /** Opens a transaction that has read the table, and so blocks every ALTER TABLE. */
  async function reader(url: string) {
    const other = postgres(url, { max: 1 })
    await other`begin`
    await other`select from first`
    return {
      done: async () => {
        await other`commit`
        await other.end()
      },
    }
  }

  it('gives up after a limited number of short lock waits, and applies nothing of the file', async () => {
    const { runWith, state, url, write } = await prepared(FIRST)
    await runWith({})
    await write(ALTER)
    const { done } = await reader(url)
    await expect(runWith({})).rejects.toMatchObject({
      name: 'MigrationError',
      code: '55P03',
      message: 'Migration 0002-second.sql got no lock in 3 tries of 50 ms: another transaction holds it',
    })
    expect(await state()).toEqual({ tables: ['first'], applied: ['0001-first.sql'] })
    await done()
    expect(await runWith({})).toEqual(['0002-second.sql'])
  })

  it('retries until the lock is free, and blocks readers no longer than one try', async () => {
    const { runWith, state, sql, url, write } = await prepared(FIRST)
    await runWith({})
    await write(ALTER)
    const { done } = await reader(url)
    const running = runWith({ tries: 1000 })
    const waiting = async () =>
      (await sql`select from pg_locks where not granted and relation = 'first'::regclass`).length > 0
    while (!(await waiting())) await new Promise(setImmediate)
    // Were the runner to keep its place in the queue of the lock, this would wait until `done`.
    await sql`select from first`
    await done()
    expect(await running).toEqual(['0002-second.sql'])
    expect((await state()).tables).toEqual(['first', 'second'])
  })

  it('cancels a statement that runs too long, and names its file', async () => {
    const { runWith } = await prepared({ '0001-first.sql': 'select pg_sleep(60)' })
    await expect(runWith({ statementTimeoutMs: 50 })).rejects.toMatchObject({
      code: '57014',
      message: expect.stringContaining('Migration 0001-first.sql failed: '),
    })
  })

  it('gives up in the middle of a file when the whole run takes too long, so that the deployment gets a response', async () => {
    const { runWith, state } = await prepared({
      ...FIRST,
      '0002-second.sql': 'create table second (n int); select pg_sleep(60); select pg_sleep(60);',
    })
    await expect(runWith({ totalMs: 300, statementTimeoutMs: 60_000 })).rejects.toMatchObject({
      code: '57014',
      message:
        'Migration 0002-second.sql failed: it was cancelled, because the whole run must end before its function times out',
    })
    expect(await state()).toEqual({ tables: ['first'], applied: ['0001-first.sql'] })
  })

  it('waits for another run, and gives up after a limit', async () => {
    const { runWith, sql } = await prepared(FIRST)
    await sql`select pg_advisory_lock(hashtext('tenantry migrations'))`
    await expect(runWith({ otherRunMs: 1 })).rejects.toThrow('Another run of the migrations did not end within 1 ms')
    await sql`select pg_advisory_unlock(hashtext('tenantry migrations'))`
    expect(await runWith({ otherRunMs: 1 })).toEqual(['0001-first.sql'])
  })
})

describe('a migration without a transaction', () => {
  const INDEX = {
    '0002-index.sql': `-- migrate: no-transaction as postgres
-- For the search.
create unique index concurrently if not exists first_n on public.first (n);`,
  }
  const indexes = (sql: postgres.Sql) =>
    sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('public.first_n')`

  it('builds an index while a transaction writes to its table', async () => {
    const { runWith, sql, url, write } = await prepared(FIRST)
    await runWith({})
    await write(INDEX)
    const other = postgres(url, { max: 1 })
    await other`begin`
    await other`insert into first values (2)`
    const running = runWith({})
    const isWaiting = async () => (await sql`select from pg_locks where not granted`).length > 0
    while (!(await isWaiting())) await new Promise(setImmediate)
    await sql`insert into first values (3)`
    await other`commit`
    expect(await running).toEqual(['0002-index.sql'])
    expect(await indexes(sql)).toEqual([{ valid: true }])
    await other.end()
  })

  it('is applied once by five concurrent runs, without a deadlock', async () => {
    const { runWith, sql } = await prepared({ ...FIRST, ...INDEX })
    const applied = await Promise.all(Array.from({ length: 5 }, () => runWith({})))
    expect(applied.filter(({ length }) => length > 0)).toHaveLength(1)
    expect(await indexes(sql)).toEqual([{ valid: true }])
  })

  it('rebuilds an index that a failed run left invalid', async () => {
    const { runWith, sql, state, write } = await prepared(FIRST)
    await runWith({})
    await sql`insert into first values (1)`
    await write(INDEX)
    await expect(runWith({})).rejects.toMatchObject({
      code: '23505',
      message: expect.stringContaining('0002-index.sql'),
    })
    expect(await indexes(sql)).toEqual([{ valid: false }])
    expect((await state()).applied).toEqual(['0001-first.sql'])
    await sql`delete from first where ctid in (select ctid from first limit 1)`
    expect(await runWith({})).toEqual(['0002-index.sql'])
    expect(await indexes(sql)).toEqual([{ valid: true }])
  })

  it('runs as the role that it names, and the next file as the login', async () => {
    const { runWith, sql, write } = await prepared({
      '0001-first.sql': `create table first (n int); alter table first owner to identity_owner;
                         grant create on schema public to identity_owner;`,
      '0002-index.sql': INDEX['0002-index.sql'].replace('as postgres', 'as identity_app'),
    })
    await expect(runWith({})).rejects.toMatchObject({ code: '42501' })
    await write({
      '0002-index.sql': INDEX['0002-index.sql'].replace('as postgres', 'as identity_owner'),
      '0003-third.sql': 'create table third (n int);',
    })
    expect(await runWith({})).toEqual(['0002-index.sql', '0003-third.sql'])
    const owners = await sql`
      select relname as name, pg_get_userbyid(relowner) as owner from pg_class
       where relname in ('first_n', 'third') order by 1`
    expect(owners).toEqual([
      { name: 'first_n', owner: 'identity_owner' },
      { name: 'third', owner: 'postgres' },
    ])
  })
})
