import { globSync, readFileSync } from 'node:fs'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { runbookPages } from '#infra/tools/runbook.ts'
import { newApiKey } from '#shared/secret/api-key.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { ARN, useOperator } from './tools/operator-commands.ts'

const pages = globSync('infra/runbook/*.md')
const textOf = (page: string): string => readFileSync(page, 'utf8')

/** Returns what a page tells people to run: the code in its sentences, and the lines of its blocks. */
const code = (page: string): string[] => {
  const text = textOf(page)
  const blocks = text.match(/^```[\s\S]*?^```|^(?: {4}.*\n)+/gm) ?? []
  const lines = blocks.flatMap((block) => block.replaceAll(/\\\n/g, ' ').split('\n'))
  const spans = text.replaceAll(/^```[\s\S]*?^```/gm, '').match(/`[^`]+`/g) ?? []
  return [...lines, ...spans].map((each) => each.replaceAll('`', '').replaceAll(/\s+/g, ' ').trim())
}

it('has the tables that npm run runbook writes', async () => {
  for (const { file, text, generated } of await runbookPages())
    expect(text, `${file}: run npm run runbook`).toBe(generated)
})

it.each([...pages, 'infra/first-deployment.md'])('%s leaves nothing out of a command', (page) => {
  const commands = code(page).filter((each) => /^(aws|git|node|npm|npx|openssl|select|set|update) /.test(each))
  expect(commands.filter((each) => each.includes('…'))).toEqual([])
})

const { service, cli, piped } = useOperator()

/** What the words in capitals stand for. Each command gets a tenant and a user of its own: some of them end both. */
async function filled(words: readonly string[], made: number): Promise<string[]> {
  const { admin } = service.database
  const [slug, email] = [`runbook-${made}`, `runbook-${made}@shop.test`]
  await createTenant(admin, slug)
  await createUser(admin, { email, slugs: [slug] })
  const values: Readonly<Record<string, string>> = {
    SLUG: slug,
    EMAIL: email,
    NAME: words[0] === 'sql' ? 'tenants' : `service-${made}`,
    ARN,
    HOST: 'restored.cluster-abc.us-east-1.rds.amazonaws.com',
    TIME: '2026-11-27T08:00:00Z',
    TEXT: 'Rehearsal',
  }
  return words.map((word) => values[word] ?? word)
}

const commands = [
  ...new Set(
    [...pages, ...globSync('infra/*.md')].flatMap((page) =>
      code(page)
        .filter((each) => /^npm run operate -- (?!COMMAND)/.test(each))
        .map((each) => each.slice('npm run operate -- '.length)),
    ),
  ),
]

describe('a command of operate', () => {
  it('is named by the pages', () => {
    expect(commands.length).toBeGreaterThan(15)
  })

  it.each(commands)('%s is one that it understands', async (line) => {
    const words = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''))
    const stage = words.indexOf('--stage')
    if (stage !== -1) words.splice(stage, 2)
    const [given, input] = words.at(-2) === '<' ? [words.slice(0, -2), newApiKey()] : [words, null]
    const args = await filled(given, commands.indexOf(line))
    const { code: exit, stderr } = await (input === null ? cli(...args) : piped(input, ...args))
    // 1: refused, as for a key that the service does not have.
    expect([0, 1], stderr).toContain(exit)
    if (exit === 1) expect(stderr).toMatch(/^Refused: /)
  })
})

describe('a statement by hand', () => {
  const statements = textOf('infra/runbook/by-hand.md')
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const login = section.includes('As the login that migrates') ? 'migrator' : 'signaller'
      return [...section.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql = '']): [string, string] => [sql, login])
    })
  const names = { migrator: `runbook_migrator_${process.pid}`, signaller: `runbook_signaller_${process.pid}` }

  beforeAll(async () => {
    const { admin } = service.database
    for (const name of Object.values(names)) await admin.unsafe(`create role ${name} login noinherit password 'x'`)
    // As migrations/0001-database-roles.sql makes the login that migrates a member.
    await admin.unsafe(`grant identity_owner to ${names.migrator} with inherit false, set true`)
    await admin.unsafe(`grant pg_signal_backend to ${names.signaller} with inherit true`)
    const tenant = await createTenant(admin, 'by-hand')
    await admin`
      insert into app.jobs (kind, payload, idempotency_key, dead_at)
      select 'event', '{}', gen_random_uuid(), at from unnest(array[now(), null]::timestamptz[]) at`
    await admin`
      insert into app.events (id, tenant_id, occurred_at, action, target_type, job_id)
      values (gen_random_uuid(), ${tenant}, now(), 'deal.changed', 'deal', gen_random_uuid())`
  })
  afterAll(async () => {
    for (const name of Object.values(names)) await service.database.admin.unsafe(`drop role ${name}`)
  })

  it('is found on its page', () => {
    expect(statements).toHaveLength(5)
  })

  it.each(statements)('%s finds rows as the %s', async (text, login) => {
    const user = login === 'migrator' ? names.migrator : names.signaller
    const url = urlFor(inject('adminUrl'), { database: service.database.name, user, password: 'x' })
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    // A connection of the route groups, to end.
    const other = postgres(service.database.appUrl, { max: 1 })
    await other`select`
    const results = await sql.unsafe(text).simple()
    await Promise.all([sql.end(), other.end({ timeout: 1 })])
    // Of several statements the last.
    const last = Array.isArray(results[0]) ? results.at(-1) : results
    expect(last?.['count']).toBeGreaterThan(0)
  })
})
