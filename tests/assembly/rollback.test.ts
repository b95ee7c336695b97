import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { takeUndocumented } from '#tests/support/documented.ts'
import { type TestService, withRequests } from '#tests/support/service.ts'
import { type Canary, deployRelease, nextRelease } from './release.ts'
import { type AssembledService, startFromAssembly } from './service.ts'
import type { Assembly } from './template.ts'
import { startTraffic, type Traffic, WAIT_MS } from './traffic.ts'

// The order and the way back of the runbook, "Roll back a deployment".

const COLUMN = 'set local role identity_owner; alter table app.deals add column priority smallint not null default 0'
const INDEX = `-- migrate: no-transaction as identity_owner
create index concurrently if not exists deals_by_priority on app.deals (tenant_id, priority)`
const BROKEN = 'set local role identity_owner; alter table app.deals add column urgency smallint not null'
const RETURNING = 'returning id, number, customer_name'
/** The new code reads what the migrations add. It fails without them. */
const reading = (column: string) =>
  [RETURNING, `returning id, number + ${column} - ${column} as number, customer_name`] as const

let service: AssembledService & TestService
let first: Assembly
let traffic: Traffic
beforeAll(async () => {
  service = withRequests(
    await startFromAssembly({ env: { SESSION_MAX_PER_USER: '1000', INVITE_TENANT_LIMIT: '1000000' } }),
  )
  first = service.assembly
})
afterAll(() => service.close())

/** Deploys while requests run, with some before and after. Returns what rolled the deployment back, or null. */
async function deploy(release: Assembly, canary?: Canary): Promise<string | null> {
  await traffic.further(20)
  const cause = await deployRelease(service, release, canary)
  await traffic.further(40)
  return cause
}

/** Waits until the canary created deals. */
const used =
  (outcome: 'keep' | 'alarm'): Canary =>
  async ({ invocations }) => {
    const deals = () => [...invocations].find(([name]) => name.endsWith('-deals'))?.[1] ?? 0
    await vi.waitUntil(() => deals() >= 2, { timeout: WAIT_MS, interval: 20 })
    return outcome
  }

describe('while requests run', () => {
  beforeAll(async () => {
    traffic = await startTraffic(service)
  })

  it('a release whose migration fails leaves the previous release in service, with the migrations before it', {
    timeout: WAIT_MS,
  }, async () => {
    const broken = await nextRelease(first, { migrations: [COLUMN, BROKEN], edits: { deals: reading('priority') } })
    expect(await deploy(broken)).toMatch(/Migration \d+-next.sql failed: column "urgency".* contains null values/)
    expect(service.aliases.stable.release).toBe(first)
  })

  it('a release is moved back by an alarm, deployed again, and rolled back, and no acknowledged write is lost', {
    timeout: 3 * WAIT_MS,
  }, async () => {
    const next = await nextRelease(first, { migrations: [COLUMN, INDEX], edits: { deals: reading('priority') } })
    expect(await deploy(next, used('alarm'))).toMatch(/an alarm went off/)
    expect(await deploy(next, used('keep'))).toBeNull()
    const { invocations } = service.aliases.stable
    expect(await deploy(first)).toBeNull()
    expect(invocations.size).toBeGreaterThan(4)
    await traffic.stop()
    expect(await traffic.differences()).toEqual([])
    expect(traffic.statuses.get(200)).toBeGreaterThan(100)
    console.log(`responses by status: ${JSON.stringify(Object.fromEntries(traffic.statuses))}`)
  })
})

it('a test of releases notices functions that are deployed before their migrations', { timeout: WAIT_MS }, async () => {
  traffic = await startTraffic(service)
  const early = await nextRelease(first, { migrations: [], edits: { deals: reading('absent') } })
  service.aliases.route(service.aliases.publish(early), 100)
  await traffic.further(40)
  await traffic.stop()
  takeUndocumented()
  expect((await traffic.differences()).join('\n')).toMatch(/POST \/v1\/deals: 500/)
})

it('pages of two releases find their style and their script at either of them', { timeout: WAIT_MS }, async () => {
  const next = await nextRelease(first, {
    migrations: [],
    edits: { web: ['--main:#2346a8', '--main:#2346a9'] },
  })
  const [one, two] = [service.aliases.stable, service.aliases.publish(next)]
  service.aliases.route(two, 50)
  const styles = new Set<string>()
  const read = async (path: string) => {
    const response = await fetch(service.webUrl + path)
    expect(response.status, path).toBe(200)
    return response.text()
  }
  const page = async () => {
    const links = (await read('/sign-in')).match(/\/assets\/[\w-]+\.(?:css|js|svg)/g) ?? []
    expect(links).toHaveLength(3)
    for (const link of links) {
      await read(link)
      if (link.endsWith('.css')) styles.add(link)
    }
  }
  for (let pages = 0; pages < 100 && styles.size < 2; pages += 1) await page()
  expect(styles.size).toBe(2)
  service.aliases.route(one, 100)
  // What a browser opened before the release was moved back.
  for (const style of styles) await read(style)
})
