import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { urlFor } from '#infra/local/database.ts'
import { migrate } from '#shared/db/migrate.ts'
import { log } from '#shared/log.ts'

const FIRST = { '0001-first.sql': 'create table first (n int); insert into first values (1);' }
const SECOND = { '0002-second.sql': 'create table second (n int);' }

/** An empty database, and a folder with these files. */
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
  /** The tables there are, and the migrations that are said to be applied. */
  const state = async () => {
    const tables = await sql<{ name: string }[]>`
      select tablename as name from pg_tables where schemaname = 'public' order by 1`
    const applied = await sql<{ name: string }[]>`select name from migrations.applied order by 1`
    return { tables: tables.map(({ name }) => name), applied: applied.map(({ name }) => name) }
  }
  return { folder, sql, write, state, run: () => migrate(url, folder) }
}

describe('migrate', () => {
  it('applies what is new, in order, and nothing twice', async () => {
    const { run, state, sql, write } = await prepared(FIRST)
    expect(await run()).toEqual(['0001-first.sql'])
    expect(await run()).toEqual([])
    await write(SECOND)
    expect(await run()).toEqual(['0002-second.sql'])
    expect(await run()).toEqual([])
    expect(await state()).toEqual({ tables: ['first', 'second'], applied: ['0001-first.sql', '0002-second.sql'] })
    expect(await sql`select n from first`).toHaveLength(1)
  })

  it('is run by five at once as by one', async () => {
    const { run, sql } = await prepared({
      '0001-first.sql': `${FIRST['0001-first.sql']} select pg_sleep(0.05);`,
      ...SECOND,
    })
    const applied = await Promise.all(Array.from({ length: 5 }, run))
    expect(applied.filter(({ length }) => length > 0)).toEqual([['0001-first.sql', '0002-second.sql']])
    expect(await sql`select n from first`).toHaveLength(1)
  })

  it('stops at a file that was changed after it was applied, names it, and changes nothing', async () => {
    const { run, state, write } = await prepared(FIRST)
    await run()
    await write({ '0001-first.sql': `${FIRST['0001-first.sql']} -- changed`, ...SECOND })
    await expect(run()).rejects.toMatchObject({
      name: 'MigrationError',
      message: expect.stringContaining('0001-first.sql was changed'),
    })
    expect(await state()).toEqual({ tables: ['first'], applied: ['0001-first.sql'] })
  })

  it('stops at an applied file that is missing, names it, and changes nothing', async () => {
    const { run, state, write, folder } = await prepared({ ...FIRST, ...SECOND })
    await run()
    await unlink(join(folder, '0002-second.sql'))
    await write({ '0002-other.sql': 'create table other (n int)', '0003-third.sql': 'create table third (n int)' })
    await expect(run()).rejects.toMatchObject({
      name: 'MigrationError',
      message: expect.stringContaining('0002-second.sql was applied, and its file is missing'),
    })
    expect((await state()).tables).toEqual(['first', 'second'])
  })

  it.for([
    [{ ...FIRST, '0003-third.sql': 'select 1' }, '0002'],
    [{ ...FIRST, '0001-again.sql': 'select 1' }, '0002'],
    [{ ...FIRST, '0002-Second.sql': 'select 1' }, '0002-Second.sql'],
    [{ ...FIRST, 'notes.md': 'a gap' }, 'notes.md'],
  ] as const)('stops before anything is applied when the files are not one sequence: %j', async ([files, named]) => {
    const { run, sql } = await prepared(files)
    await expect(run()).rejects.toMatchObject({ name: 'MigrationError', message: expect.stringContaining(named) })
    expect(await sql`select from pg_namespace where nspname = 'migrations'`).toHaveLength(0)
  })

  it('leaves nothing of a migration that fails, keeps those before it, and goes on once it is put right', async () => {
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

  it('logs what a migration warns of, and not its notices', async () => {
    const { run } = await prepared({
      '0001-first.sql': `do $$ begin raise notice 'a detail'; raise warning 'something is not there'; end $$`,
    })
    const warn = vi.spyOn(log, 'warn')
    onTestFinished(() => warn.mockRestore())
    await run()
    expect(warn.mock.calls).toEqual([['something is not there']])
  })

  it('leaves no lock behind, also after a failure', async () => {
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
