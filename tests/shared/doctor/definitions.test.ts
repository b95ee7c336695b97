import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { examine, examineWithin } from '#shared/doctor/doctor.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

const database = await createTestDatabase()
const url = urlFor(inject('adminUrl'), { database: database.name })
const admin = postgres(url, { max: 1, onnotice: () => {} })
afterAll(async () => {
  await admin.end()
  await database.drop()
})

// Roles belong to the cluster, and other files make services at the same time.
const OF_OTHER_FILES = new Set(['service-timeout', 'service-set-option'])

/** Examines after the statements and, if there are repairs, after these. Takes everything back. */
async function examined(statements: readonly string[], repaired = false) {
  const named: string[][] = []
  const undo = new Error('roll back')
  const look = async (tx: postgres.TransactionSql) => {
    const found = (await examineWithin(tx, MIGRATIONS)).filter(
      ({ severity, check }) => severity !== 'unseen' && !OF_OTHER_FILES.has(check),
    )
    named.push(found.map(({ check, object }) => `${check}: ${object}`))
    return found
  }
  await admin
    .begin(async (tx) => {
      const before = new Set((await look(tx)).map(({ check, object }) => `${check}: ${object}`))
      for (const statement of statements) await tx.unsafe(statement)
      const found = (await look(tx)).filter(({ check, object }) => !before.has(`${check}: ${object}`))
      if (repaired) {
        for (const { repair } of found) await tx.unsafe(repair)
        await look(tx)
      }
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  const [before = [], after = [], last = []] = named
  return { found: after.filter((each) => !before.includes(each)), left: last.filter((each) => !before.includes(each)) }
}

const OWNER = 'set local role identity_owner'

const CHANGES: readonly (readonly [what: string, plant: readonly string[], named: readonly string[]])[] = [
  [
    'a trigger that is disabled',
    ['alter table app.sessions disable trigger sessions_stay_ended'],
    ['trigger-changed: app.sessions sessions_stay_ended'],
  ],
  [
    'a trigger that is missing',
    ['drop trigger memberships_keep_an_owner on app.memberships'],
    ['trigger-changed: app.memberships memberships_keep_an_owner'],
  ],
  [
    'a trigger that fires for other changes',
    [
      `create or replace trigger memberships_keep_within_reach before insert on app.memberships
         for each row execute function app.keep_within_reach()`,
    ],
    ['trigger-changed: app.memberships memberships_keep_within_reach'],
  ],
  [
    'a trigger that no migration makes',
    [`create trigger planted before insert on app.tokens for each row execute function app.refuse_change('no')`],
    ['trigger-changed: app.tokens planted'],
  ],
  [
    'a trigger that is disabled on a partition alone',
    ['alter table app.audit_log_default disable trigger audit_log_adds_event'],
    ['trigger-changed: app.audit_log_default audit_log_adds_event'],
  ],
  [
    'a foreign key that is no longer checked',
    ['alter table app.price_breaks disable trigger all'],
    ['trigger-changed: app.price_breaks'],
  ],
  [
    'a function with other settings',
    ['alter function app.enter_to_read(bytea) set search_path = public'],
    ['function-changed: app.enter_to_read(bytea)'],
  ],
  [
    'a function whose body Postgres parsed at its creation',
    [
      `create or replace function app.tenant_ip_hash(p_ip_hash bytea, p_tenant uuid) returns bytea
         language sql immutable parallel safe return p_ip_hash`,
    ],
    ['function-changed: app.tenant_ip_hash(bytea, uuid)'],
  ],
  [
    'a function that Postgres takes for leakproof',
    ['alter function app.leaving(jsonb, text[]) leakproof'],
    ['function-changed: app.leaving(jsonb, text[])'],
  ],
  [
    'a domain without its check',
    ['alter domain app.email_address drop constraint email_address_check'],
    ['domain-changed: app.email_address'],
  ],
  [
    'a table without a check',
    ['alter table app.service_keys drop constraint service_keys_scopes_check'],
    ['constraint-changed: app.service_keys service_keys_scopes_check'],
  ],
  [
    'a column that no longer names its author',
    ['alter table app.audit_log alter column actor_user_id drop default'],
    ['default-changed: app.audit_log.actor_user_id'],
  ],
  [
    'a rule that drops writes',
    ['create rule planted as on insert to app.failed_sign_ins do instead nothing'],
    ['rule-changed: app.failed_sign_ins planted'],
  ],
  [
    'a view that shows more',
    [
      `create or replace view app.invitations with (security_invoker = true) as
         select t.id, t.email, t.role_id, t.invited_by, t.created_at, t.expires_at, t.bounced_at from app.tokens t`,
    ],
    ['view-changed: app.invitations'],
  ],
  [
    'another policy on a table of people',
    [`create policy planted on app.users for select to identity_app using (email like '%@%')`],
    ['policy-changed: app.users planted'],
  ],
  [
    'functions of the owner that every role may call',
    [OWNER, 'alter default privileges grant execute on functions to public', 'reset role'],
    ['functions-open: identity_owner'],
  ],
  ...['scope_key', 'ticket_key', 'proof_key', 'salt_key'].map((key): (typeof CHANGES)[number] => [
    `a seal with zeros as ${key}`,
    [`update app.seal set ${key} = decode(repeat('00', 64), 'hex')`],
    [`seal-weak: app.seal.${key}`],
  ]),
  [
    'a seal with a word in place of a key',
    [`update app.seal set ticket_key = convert_to(repeat('password', 8), 'UTF8')`],
    ['seal-weak: app.seal.ticket_key'],
  ],
  [
    'a seal with one key for two things',
    ['update app.seal set proof_key = ticket_key'],
    ['seal-weak: app.seal.proof_key', 'seal-weak: app.seal.ticket_key'],
  ],
  ...Object.entries({ row_security: 'off', session_replication_role: 'replica' }).map(
    ([name, value]): (typeof CHANGES)[number] => [
      `${name} of the database`,
      [`alter database ${database.name} set ${name} = ${value}`],
      [`guard-setting: ${name}`],
    ],
  ),
]

describe('the doctor', () => {
  it.each(CHANGES)('names %s', async (_, plant, named) => {
    const { found } = await examined(plant)
    for (const name of named)
      expect(
        found.some((each) => each.startsWith(name)),
        found.join(),
      ).toBe(true)
    expect(found.filter((each) => !named.some((name) => each.startsWith(name)))).toEqual([])
  })

  it('repairs a weak seal by the statement that it prints', async () => {
    const { found, left } = await examined(
      [`update app.seal set scope_key = decode(repeat('00', 64), 'hex'), salt_key = decode(repeat('01', 64), 'hex')`],
      true,
    )
    expect(found).toEqual(['seal-weak: app.seal.salt_key', 'seal-weak: app.seal.scope_key'])
    expect(left).toEqual([])
  })

  it('names a setting of the server, which every connection has', async () => {
    const sql = postgres(url, { max: 1, connection: { row_security: 'off' } })
    const found = await examine(sql, MIGRATIONS)
    await sql.end()
    expect(found).toContainEqual(
      expect.objectContaining({ severity: 'fault', check: 'guard-setting', object: 'row_security' }),
    )
  })
})

describe('the statistics of the tables of another service', () => {
  const SERVICE = [
    'create schema planted',
    `create table planted.notes (
       id uuid primary key, tenant_id uuid not null, pieces integer, title text, tags text[], data jsonb, mail app.email_address)`,
    `select app.enforce_tenant('planted.notes')`,
  ]
  const named = async (statements: readonly string[], repaired = false) => {
    const { found, left } = await examined([...SERVICE, ...statements], repaired)
    const ofStatistics = (all: readonly string[]) => all.filter((each) => each.startsWith('service-statistics'))
    return { found: ofStatistics(found), left: ofStatistics(left) }
  }

  it('are named for each text of a guarded table, each expression of an index and each group of columns, until they are repaired', async () => {
    const { found, left } = await named(
      [
        'create index notes_by_title on planted.notes (tenant_id, lower(title))',
        'create statistics planted.together (mcv) on title, pieces from planted.notes',
      ],
      true,
    )
    expect(found).toEqual([
      'service-statistics: planted.notes.data',
      'service-statistics: planted.notes.mail',
      'service-statistics: planted.notes.tags',
      'service-statistics: planted.notes.title',
      'service-statistics: planted.notes_by_title',
      'service-statistics: planted.together',
    ])
    expect(left).toEqual([])
  })

  it('are gone from a column that was analyzed, after the repair', async () => {
    await admin.begin(async (tx) => {
      for (const statement of SERVICE) await tx.unsafe(statement)
      await tx`insert into planted.notes (id, tenant_id, title) select gen_random_uuid(), gen_random_uuid(), 'that' from generate_series(1, 400)`
      await tx`analyze planted.notes`
      const kept = async () => {
        const [row] = await tx`
          select count(*)::int as count from pg_statistic s join pg_attribute a on a.attrelid = s.starelid and a.attnum = s.staattnum
           where s.starelid = 'planted.notes'::regclass and a.attname = 'title'`
        return row?.['count']
      }
      expect(await kept()).toBe(1)
      const found = await examineWithin(tx, MIGRATIONS)
      await tx.unsafe(found.find(({ object }) => object === 'planted.notes.title')?.repair ?? '')
      await tx`analyze planted.notes`
      expect(await kept()).toBe(0)
      expect((await examineWithin(tx, MIGRATIONS)).map(({ object }) => object)).not.toContain('planted.notes.title')
      await tx`drop schema planted cascade`
    })
  })
})
