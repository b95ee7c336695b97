// Compares the member list of one tenant in a database of few tenants and in one of many: `npm run bench:members`.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import * as v from 'valibot'
import { startCache } from '#infra/local/cache/cache.ts'
import { prepareDatabase } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { newToken, hashToken } from '#shared/secret/secret.ts'
import { loginsOf } from '#tests/support/access.ts'
import { fillManyTenants, type ManyTenants } from '#tests/support/many-tenants.ts'
import { type Cleanup, createCleanup } from './cleanup.ts'
import { SERVICE_ENV } from './fixture.ts'
import { createClient, expectStatus } from './http-client.ts'
import { type ServerProcess, startProcess } from './processes.ts'
import type { ServiceOptions } from './service-process.ts'
import { median } from './statistics.ts'

const MEMBERS = 50
const FEW: ManyTenants = { tenants: 10, users: 250, memberships: 500, members: MEMBERS }
const MANY: ManyTenants = { tenants: 10_000, users: 50_000, memberships: 100_000, members: MEMBERS }
const WARM_UPS = 50
const PAIRS = 500
const MOST_RATIO = 1.3

/** Starts a service with its own database. Returns a call of the member list as the tenant's owner. */
async function startTenant(adminUrl: string, name: string, shape: ManyTenants, cleanup: Cleanup) {
  const { databaseUrl, urls } = await prepareDatabase(adminUrl, { name, rolePassword: 'bench-role-password' })
  const pepper = `${newToken()}${newToken()}`
  const token = newToken()
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const tenantId = await fillManyTenants(sql, shape)
  await sql`
    insert into app.sessions (token_key, user_id, tenant_id, idle_expires_at, absolute_expires_at, csrf_secret)
    select case when m.tenant_id = ${tenantId} and m.role_id = 1 then ${hashToken(pepper, token)}
                else sha256(m.id::text::bytea) end,
           m.user_id, m.tenant_id, now() + interval '12 hours', now() + interval '7 days', sha256(m.id::text::bytea)
      from app.memberships m`
  await sql`vacuum analyze`
  const [row] = await sql<{ tenants: number; memberships: number; members: number }[]>`
    select (select count(*)::int from app.tenants) as tenants, (select count(*)::int from app.memberships) as memberships,
           (select count(*)::int from app.memberships where tenant_id = ${tenantId}) as members`
  await sql.end()
  say(
    `${name}: ${row?.tenants} tenants, ${row?.memberships} memberships, ${row?.members} of them in the measured tenant`,
  )
  const cache = await startCache()
  cleanup.add(() => cache.close())
  const server: ServerProcess = await startProcess(
    './service-process.ts',
    {
      env: { ...SERVICE_ENV, DATABASE_CONNECTIONS: '1' },
      access: {
        logins: loginsOf(urls),
        tokenSecrets: { pepper, mailKey: pepper },
        cache: { url: cache.url, token: cache.token },
      },
    } satisfies ServiceOptions,
    cleanup,
  )
  const call = createClient(server.greeting.url)
  return async (query: string) =>
    expectStatus(await call(`GET /v1/members${query}`, { token }), 200, `${name} ${query}`)
}

const Page = v.object({ data: v.array(v.unknown()), next_cursor: v.nullable(v.string()) })

const say = (text: string): void => console.error(`… ${text}`)

async function main(): Promise<number> {
  const cleanup = createCleanup()
  try {
    const folder = await mkdtemp(join(tmpdir(), 'tenantry-bench-'))
    cleanup.add(() => rm(folder, { recursive: true, force: true }))
    // If root starts it, Postgres runs as nobody, who must be able to enter the folder.
    await chmod(folder, 0o711)
    const cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: true })
    cleanup.add(() => cluster.stop('immediate'))
    const few = await startTenant(cluster.adminUrl, 'few', FEW, cleanup)
    const many = await startTenant(cluster.adminUrl, 'many', MANY, cleanup)

    const later = async (list: typeof few, limit: number) => {
      const { next_cursor } = v.parse(Page, JSON.parse((await list(`?limit=${limit}`)).body))
      return `?limit=${limit}&cursor=${next_cursor}`
    }
    const pages: readonly { page: string; query: (list: typeof few) => string | Promise<string> }[] = [
      { page: 'all 50 members', query: () => '?status=active,invited,revoked' },
      { page: 'first page of 20', query: () => '?limit=20' },
      { page: 'second page of 20', query: (list) => later(list, 20) },
      { page: 'active', query: () => '?status=active' },
      { page: 'invited', query: () => '?status=invited' },
      { page: 'revoked', query: () => '?status=revoked' },
      { page: 'by part of the name', query: () => '?q=person' },
      { page: 'by an unknown name', query: () => '?q=nobody-of-this-name' },
    ]
    let met = true
    for (const { page, query } of pages) {
      const contenders = [
        { list: few, query: await query(few), times: [] as number[], shown: 0 },
        { list: many, query: await query(many), times: [] as number[], shown: 0 },
      ]
      for (let round = -WARM_UPS; round < PAIRS; round += 1) {
        for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
          const { ms, body } = await contender.list(contender.query)
          if (round < 0) contender.shown = v.parse(Page, JSON.parse(body)).data.length
          else contender.times.push(ms)
        }
      }
      const [fewMs = Number.NaN, manyMs = Number.NaN] = contenders.map(({ times }) => median(times))
      const ratio = manyMs / fewMs
      const kept = ratio <= MOST_RATIO && contenders[0]?.shown === contenders[1]?.shown
      met &&= kept
      const shown = contenders.map((contender) => contender.shown).join(' and ')
      console.log(
        `${page.padEnd(26)} ${fewMs.toFixed(2)} ms and ${manyMs.toFixed(2)} ms, ratio ${ratio.toFixed(3)}` +
          `, ${shown} shown${kept ? '' : ', MISSED'}`,
      )
    }
    return met ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

process.exit(await main())
