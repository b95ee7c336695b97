import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_RELEASE, lintMigrations } from '#infra/tools/lint-migrations.ts'
import { previousRelease } from '#infra/tools/previous-release.ts'
import { readMigrations } from '#shared/db/migrate.ts'
import { type Rule, RULES } from '#infra/tools/migration-rules.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))
const OWNER = 'set local role identity_owner;\n'
const RELEASED = 1

/** The first release created these. A later file contains the linted statements. */
const FIRST = {
  name: '0001-first.sql',
  text: `create table app.tenants (id uuid primary key);
         create table app.things (id uuid primary key, tenant_id uuid not null, name text, size integer);
         create view app.names as select name from app.things;
         create type app.mood as enum ('good');
         create function app.f(integer) returns integer language sql return 1;
         select app.enforce_tenant('app.things');
         select app.give('app.f');`,
}

const lint = (...files: readonly string[]) =>
  lintMigrations(
    [FIRST, ...files.map((text, at) => ({ name: `${String(at + 2).padStart(4, '0')}-later.sql`, text }))],
    RELEASED,
  )
const rules = async (...files: readonly string[]) => (await lint(...files)).map(({ rule }) => rule)
const alone = (text: string) => `-- migrate: no-transaction as identity_owner\n${text}`

const RED: readonly (readonly [Rule, string])[] = [
  ['drop', 'alter table app.things drop column name'],
  ['drop', 'drop table if exists app.things'],
  ['drop', 'drop view app.names'],
  ['drop', 'drop function app.f(integer)'],
  ['drop', 'drop type app.mood'],
  ['drop', 'ALTER TABLE app.things\n  /* quietly */ DROP name'],
  ['rename', 'alter table app.things rename to goods'],
  ['rename', 'alter table app.things rename column name to title'],
  ['rename', 'alter function app.f(integer) rename to g'],
  ['rename', 'alter table app.things set schema public'],
  ['column-type', 'alter table app.things alter column size type bigint'],
  ['set-not-null', 'alter table app.things alter column name set not null'],
  ['not-null-without-default', 'alter table app.things add column colour text not null'],
  ['validates-at-once', 'alter table app.things add constraint small check (size < 9)'],
  ['validates-at-once', 'alter table app.things add foreign key (tenant_id) references app.tenants'],
  ['validates-at-once', "alter table app.things add column colour text check (colour <> '')"],
  [
    'validates-at-once',
    "alter table app.things add column owner uuid default '00000000-0000-4000-8000-000000000000' references app.tenants",
  ],
  [
    'validates-in-one-file',
    'alter table app.things add constraint small check (size < 9) not valid; alter table app.things validate constraint small',
  ],
  ['builds-an-index', 'create index on app.things (name)'],
  ['builds-an-index', 'create unique index things_name on app.things (name)'],
  ['builds-an-index', 'alter table app.things add unique (name)'],
  ['builds-an-index', 'alter table app.things add column code text unique'],
  ['builds-an-index', 'alter table app.things add exclude using gist (name with =)'],
  ['no-transaction', 'create index concurrently if not exists i on app.things (name)'],
  ['no-transaction', 'drop index concurrently if exists app.i'],
  ['rewrites-table', 'alter table app.things add column seen timestamptz default clock_timestamp()'],
  ['rewrites-table', 'alter table app.things add column key uuid not null default gen_random_uuid()'],
  ['rewrites-table', 'alter table app.things add column number bigserial'],
  ['rewrites-table', 'alter table app.things add column number bigint generated always as identity'],
  ['rewrites-table', 'alter table app.things add column length integer generated always as (length(name)) stored'],
  ['rewrites-table', 'alter table app.things set unlogged'],
  ['rewrites-table', 'vacuum full app.things'],
  ['rewrites-table', 'reindex table app.things'],
  ['enum-value', "alter type app.mood add value 'bad'"],
  ['changes-rows', "update app.things set name = ''"],
  ['changes-rows', 'delete from app.things where size > 3'],
  ['changes-rows', 'truncate app.things'],
  ['opaque', "do $$ begin execute 'drop table app.things'; end $$"],
  ['timeouts', "set local lock_timeout = '1min'"],
  ['timeouts', 'set statement_timeout = 0'],
  ['transaction-control', 'commit'],
  ['tenant-guard', 'create table app.notes (id uuid primary key, tenant_id uuid not null)'],
  ['tenant-guard', 'create table app.notes_2026 partition of app.notes default'],
  ['function-record', 'create function app.g() returns integer language sql return 1'],
  ['function-record', "create function app.g() returns integer language sql return 1; select app.give('app.f')"],
  ['function-record', 'grant execute on function app.f(integer) to identity_app'],
  ['function-record', 'revoke execute on routine app.f from identity_app'],
  ['function-record', 'grant execute on all functions in schema app to identity_app'],
  ['function-record', 'alter function app.f owner to identity_gate'],
  [
    'tenant-guard',
    "create table app.notes (id uuid primary key, tenant_id uuid not null); select app.enforce_tenant('app.things')",
  ],
]

const GREEN: readonly string[] = [
  "create function app.g() returns integer language sql return 1; select app.give('app.f', 'app.g')",
  'alter table app.things add column colour text',
  "alter table app.things add column colour text not null default 'red'",
  'alter table app.things add column seen timestamptz not null default now()',
  'alter table app.things add column owner uuid references app.tenants',
  'alter table app.things add constraint small check (size < 9) not valid',
  'alter table app.things add foreign key (tenant_id) references app.tenants not valid',
  'alter table app.things add constraint things_name unique using index things_name',
  'alter table app.things alter column name drop not null, drop constraint small, alter column size set default 1',
  "create table app.notes (id uuid primary key, tenant_id uuid not null check (tenant_id is not null)); select app.enforce_tenant('app.notes'); create index on app.notes (tenant_id); alter table app.notes alter column id type text, drop column id; update app.notes set tenant_id = null; drop table app.notes",
  "create table app.colours (code text primary key); insert into app.colours values ('drop table app.things;')",
  'create temp table t (tenant_id uuid)',
  "comment on table app.things is 'alter table app.things drop column name;'",
  '-- drop table app.things;\n/* truncate app.things; */ select $$ drop table app.things; $$',
  'create or replace function app.f(integer) returns integer language plpgsql as $$ begin delete from app.things; return 1; end $$',
  'create or replace view app.names as select name, size from app.things',
  'drop policy if exists p on app.things; drop trigger if exists t on app.things',
]

describe('lintMigrations', () => {
  it('accepts the migrations of the service', async () => {
    const files = await readMigrations(MIGRATIONS)
    expect(files.length).toBeGreaterThan(10)
    expect(await lintMigrations(files)).toEqual([])
  })

  it.each(RED)('refuses with the rule %s: %s', async (rule, text) => {
    expect(await rules(OWNER + text)).toEqual([rule])
  })

  it.each(GREEN)('accepts: %s', async (text) => {
    expect(await rules(OWNER + text)).toEqual([])
  })

  it('has an example for each rule', () => {
    const elsewhere = ['owner-role', 'override', 'still-used']
    expect([...new Set([...RED.map(([rule]) => rule), ...elsewhere])].toSorted()).toEqual(Object.keys(RULES).toSorted())
  })

  it('refuses a file that does not begin as identity_owner', async () => {
    expect(await rules('select 1')).toEqual(['owner-role'])
    expect(await rules('set role identity_owner')).toEqual(['owner-role'])
    expect(await rules('set local role postgres')).toEqual(['owner-role'])
    expect(await rules('-- What it is for.\nset local role identity_owner')).toEqual([])
    expect(await rules('-- allow owner-role: event triggers belong to a superuser\nselect 1')).toEqual([])
  })

  it('accepts SET NOT NULL after a check of an earlier file was validated in another file', async () => {
    const add = `${OWNER}alter table app.things add constraint named check (name is not null) not valid`
    const validate = `${OWNER}alter table app.things validate constraint named`
    const set = `${OWNER}alter table app.things alter column name set not null`
    expect(await rules(add, validate, set)).toEqual([])
    expect(await rules(add, set)).toEqual(['set-not-null'])
    const other = `${OWNER}alter table app.things add constraint named check (name is not null or size > 1) not valid`
    expect(await rules(other, validate, set)).toEqual(['set-not-null'])
  })

  it('accepts an index of a table with rows only in a file of its own, built concurrently', async () => {
    expect(
      await rules(alone('-- For the search.\ncreate index concurrently if not exists i on app.things (name);')),
    ).toEqual([])
    expect(await rules(alone('drop index concurrently if exists app.i'))).toEqual([])
    for (const text of [
      'create index concurrently i on app.things (name)',
      'create index concurrently if not exists i on things (name)',
      'drop index concurrently app.i',
      'select 1',
    ]) {
      expect(await rules(alone(text)), text).toContain('no-transaction')
    }
    expect(await rules(alone('create index if not exists i on app.things (name)'))).toEqual(['builds-an-index'])
    expect(await rules(alone('create index concurrently if not exists i on app.things (name); select 1'))).toContain(
      'no-transaction',
    )
  })

  it('accepts an override with a reason, for its statement and its rule alone', async () => {
    const drop = 'alter table app.things drop column name;'
    const allow = '-- allow drop: nothing has read it since 0002'
    expect(await rules(`${OWNER}${allow}\n${drop}`)).toEqual([])
    expect(await rules(`${OWNER}-- Why.\n${allow}\n-- And more.\n${drop}`)).toEqual([])
    expect(await rules(`${OWNER}${drop} ${allow}`)).toEqual([])
    expect(await rules(`${OWNER}${drop} ${allow}\n${drop}`)).toEqual(['drop'])
    expect(await rules(`${OWNER}${allow}\n${drop}\n${drop}`)).toEqual(['drop'])
    expect(await rules(`${OWNER}${allow}\n\nselect 1;\n${drop}`)).toEqual(['drop', 'override'])
    expect(await rules(`${OWNER}-- allow drop:\n${drop}`)).toEqual(['drop', 'override'])
    expect(await rules(`${OWNER}-- allow rename: no\n${drop}`)).toEqual(['drop', 'override'])
    expect(await rules(`${OWNER}select '${allow}\n';${drop}`)).toEqual(['drop'])
  })

  describe('with the code of the previous release', () => {
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tenantry-previous-'))
      const git = (...words: string[]) =>
        execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.test', ...words])
      for (const [file, text] of [
        ['functions/api/things.ts', 'sql`select id, size from app.things`'],
        ['functions/api/names.ts', 'sql`select name from app.other`'],
        ['shared/moods.ts', "sql`select 'good'::app.mood`"],
        ['migrations/0001-first.sql', FIRST.text],
        ['migrations/0002-later.sql', 'the migration that v1.1.0 has'],
      ] as const) {
        await mkdir(join(folder, dirname(file)), { recursive: true })
        await writeFile(join(folder, file), text)
      }
      git('init', '-q')
      git('add', '.')
      git('commit', '-q', '-m', 'a release')
      expect(previousRelease(folder)).toBeNull()
      git('tag', 'v1.1.0')
      git('tag', 'v1-of-something-else')
      await writeFile(join(folder, 'functions/api/things.ts'), 'the next release does not use it')
      git('commit', '-q', '-a', '-m', 'the next release')
    })
    afterAll(() => rm(folder, { recursive: true }))

    const against = async (name: string, statement: string) => {
      const later = { name, text: OWNER + statement }
      return (await lintMigrations([FIRST, later], RELEASED, previousRelease(folder))).map(
        ({ rule, what }) => `${rule} ${what}`,
      )
    }
    const ALLOW = '-- allow drop: nothing reads it\n'

    it.each([
      [
        'a column',
        `${ALLOW}alter table app.things drop column size`,
        'app.things size (v1.1.0: functions/api/things.ts)',
      ],
      ['a table', `${ALLOW}drop table app.things`, 'app.things (v1.1.0: functions/api/things.ts)'],
      ['a type', `${ALLOW}drop type app.mood`, 'app.mood (v1.1.0: shared/moods.ts)'],
      [
        'the type of a column',
        '-- allow column-type: small\nalter table app.things alter column size type bigint',
        'app.things size (v1.1.0: functions/api/things.ts)',
      ],
    ])('no reason allows a new file to drop or change %s that it names', async (_what, statement, what) => {
      expect(await against('0003-later.sql', statement)).toEqual([`still-used ${what}`])
      const [allow = '', rest = ''] = statement.split('\n')
      expect(await against('0003-later.sql', `${allow}\n-- allow still-used: another one\n${rest}`)).toEqual([])
    })

    it('a reason allows what it does not name, and what it has migrated itself', async () => {
      expect(await against('0003-later.sql', `${ALLOW}alter table app.things drop column name`)).toEqual([])
      expect(await against('0002-later.sql', `${ALLOW}alter table app.things drop column size`)).toEqual([])
      expect(await against('0003-later.sql', 'alter table app.things drop column size')).toEqual([
        'drop app.things size',
      ])
      expect(previousRelease('/no/such/folder')).toBeNull()
    })
  })

  it('reports the file, line and object, also after multi-byte characters', async () => {
    expect(await lint(`${OWNER}-- Größe, désormais\n\nalter table app.things\n  drop column size;`)).toEqual([
      { file: '0002-later.sql', line: 4, rule: 'drop', what: 'app.things size' },
    ])
  })

  it('throws with the name of a file that Postgres cannot parse', async () => {
    await expect(lint(`${OWNER}alter tabel app.things`)).rejects.toThrow(
      /0002-later\.sql: syntax error at or near "tabel"/,
    )
  })

  it('refuses a drop in a later file only once the first release is set', async () => {
    const files = [FIRST, { name: '0002-later.sql', text: `${OWNER}alter table app.things drop column name` }]
    const named = async (release: number | null) => (await lintMigrations(files, release)).map(({ rule }) => rule)
    expect(await named(null)).toEqual([])
    expect(await named(2)).toEqual([])
    expect(await named(1)).toEqual(['drop'])
  })

  it('has FIRST_RELEASE set from version 1.0.0 on', async () => {
    const { version }: { version: string } = JSON.parse(await readFile(`${MIGRATIONS}../package.json`, 'utf8'))
    const released = Number.parseInt(version, 10) >= 1
    expect(FIRST_RELEASE !== null, 'FIRST_RELEASE in infra/tools/lint-migrations.ts').toBe(released)
    expect(FIRST_RELEASE ?? 1).toBeLessThanOrEqual((await readMigrations(MIGRATIONS)).length)
  })
})
