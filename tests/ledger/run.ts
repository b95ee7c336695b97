import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCleanup } from '#tests/bench/cleanup.ts'
import { planFactors } from './factor-plans.ts'
import { find } from './found.ts'
import { entriesOf, judge } from './judge.ts'
import { MIXES } from './kinds.ts'
import { type Ledger, now, openLedger, readLedger } from './ledger.ts'
import { planPeople, select, signIn } from './people-plans.ts'
import type { Pool, Session } from './plan.ts'
import { report } from './report.ts'
import { type Scenario, SCENARIOS } from './scenarios.ts'
import { planShops } from './shop-plans.ts'
import { createShops, type Shop } from './shops.ts'
import { type Stage, startStage } from './stage.ts'
import { createTraffic, type Traffic } from './traffic.ts'

const HELP = `npm run test:ledger [-- --minutes N] [-- --soak] [-- --rate N] [-- --only TEXT] [-- --late-recovery] [-- --keep]

Sends mixed requests to a stack of its own while its parts fail, and holds the ledger of requests against what the stack holds.
--minutes (10) is the time for all scenarios together, --soak an hour. --rate is the number of requests a second; without it the
warm-up measures what the machine carries. --only runs the scenarios whose name contains a text. With --late-recovery, a recovery after more
than 5 seconds is printed and does not fail: for a machine that does other work. --keep keeps the folder.`

const MOST_PER_SECOND = 40
/** Half of what the machine carries: a rate that leaves time to recover. */
const SHARE_OF_CAPACITY = 0.5
const WARM_UP_REQUESTS = 300
const WARM_UP_CLIENTS = 6
const SAMPLE_MS = 5000
const SETTLE_MS = 240_000
/** The fault takes this share of a scenario's time, and the recovery the rest. */
const FAULT_SHARE = 0.4

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    soak: { type: 'boolean', default: false },
    rate: { type: 'string' },
    only: { type: 'string', default: '' },
    'late-recovery': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<boolean> {
  const started = now()
  const say = (text: string) => console.log(`${((now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`)
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-ledger-'))
  await chmod(folder, 0o755)
  const cleanup = createCleanup()
  if (!options.keep) cleanup.add(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  try {
    const stage = await startStage(folder, cleanup)
    const ledger = openLedger(join(folder, 'ledger.jsonl'))
    say(`started ${stage.info.gateway_url}; the ledger is ${ledger.file}`)
    const shops = await stage.server.look((sql) => createShops(sql, stage.secrets))
    const traffic = createTraffic({ url: stage.info.gateway_url, ledger, shops, rate: MOST_PER_SECOND })
    const planners = await plan(traffic, shops, stage)
    traffic.rate = options.rate === undefined ? await capacity(traffic, planners) : Number(options.rate)
    say(`sends ${traffic.rate.toFixed(0)} requests a second`)
    traffic.start(planners)

    const sampling = sample(stage, ledger)
    await runScenarios({ stage, traffic, ledger, say })
    traffic.scenario = 'after all'
    await traffic.stop()
    clearInterval(sampling)
    say('sent the last request; waits for mails, events and sync runs, also for the leases of workers that died')
    await stage.settle(SETTLE_MS)
    await stage.collectEvents()
    const lines = readLedger(ledger.file)
    const sources = { mails: await stage.mails(), events: stage.events() }
    const found = await stage.server.look((sql) => find(sql, entriesOf(lines), sources))
    say('holds the ledger against database, mailbox, event bus and audit log')
    return report(lines, judge(lines, found), options['late-recovery'])
  } catch (error) {
    // Before the cleanup, which may take long or fail too.
    console.error(error)
    return false
  } finally {
    await cleanup.run()
  }
}

/** Signs the staff in and returns how to plan requests. */
async function plan(traffic: Traffic, shops: readonly Shop[], stage: Stage) {
  const staff = new Map<number, Session[]>()
  for (const { tenant, staff: people } of shops) {
    const sessions: Session[] = []
    staff.set(tenant, sessions)
    for (const person of people)
      await traffic.send(
        signIn(person, (session) => void traffic.send(select(session, shops, () => sessions.push(session)))),
      )
  }
  while ([...staff.values()].some((sessions, index) => sessions.length < (shops[index]?.staff.length ?? 0)))
    await delay(50)
  const [style] = await stage.server.look(
    (sql) => sql<{ id: string }[]>`select id from app.styles where tenant_id is null limit 1`,
  )
  const readToken = (email: string) => stage.readToken(email).catch(() => null)
  const pool: Pool = { pending: [], spare: [], proven: [], ended: [] }
  return {
    ...planPeople(shops, staff, pool, readToken),
    ...planFactors(shops, pool),
    ...planShops(shops, staff, style?.id ?? ''),
  }
}

/** Sends requests one after the other. Returns how many a second the run may send. */
async function capacity(traffic: Traffic, planners: Awaited<ReturnType<typeof plan>>): Promise<number> {
  let left = WARM_UP_REQUESTS
  const client = async () => {
    for (; left > 0; left -= 1) await traffic.sendOne(planners)
  }
  const work = () => Promise.all(Array.from({ length: WARM_UP_CLIENTS }, client))
  // The first half starts the instances.
  await work()
  const since = now()
  left = WARM_UP_REQUESTS
  await work()
  return Math.max(5, Math.min(MOST_PER_SECOND, (SHARE_OF_CAPACITY * WARM_UP_REQUESTS * 1000) / (now() - since)))
}

function sample(stage: Stage, ledger: Ledger): NodeJS.Timeout {
  const take = async () => {
    const { rssBytes, heaps } = await stage.memory()
    const heapBytes = heaps.reduce((sum, each) => sum + each, 0) / heaps.length
    ledger.write({ what: 'memory', at: now(), rssBytes, heapBytes, instances: heaps.length })
    await stage.collectEvents()
  }
  return setInterval(() => void take().catch(() => {}), SAMPLE_MS)
}

async function runScenarios({
  stage,
  traffic,
  ledger,
  say,
}: {
  stage: Stage
  traffic: Traffic
  ledger: Ledger
  say: (text: string) => void
}): Promise<void> {
  const chosen = SCENARIOS.filter(({ name }) => name.includes(options.only))
  const minutes = options.soak ? 60 : Number(options.minutes)
  const eachMs = (minutes * 60_000) / chosen.length
  // A soak runs each scenario for as long as a run of ten minutes, again and again.
  const rounds = options.soak ? 6 : 1
  await delay(eachMs / 2)
  for (let round = 1; round <= rounds; round += 1)
    for (const scenario of chosen) {
      const name = round === 1 ? scenario.name : `${scenario.name}, round ${round}`
      await runOne({ ...scenario, name }, eachMs / rounds)
    }

  async function runOne({ name, mix, begin, prepare }: Scenario, ms: number): Promise<void> {
    traffic.scenario = name
    traffic.mix = MIXES[mix]
    prepare?.(stage)
    ledger.write({ what: 'mark', scenario: name, phase: 'begins', at: now() })
    const from = now()
    const end = await begin(stage)
    const faultFrom = now()
    await delay(FAULT_SHARE * ms)
    await end()
    const returned = now()
    ledger.write({ what: 'mark', scenario: name, phase: 'returned', at: returned })
    say(`${name} (${((returned - faultFrom) / 1000).toFixed(1)} s)`)
    await delay(Math.max((1 - FAULT_SHARE) * ms, ms - (now() - from)))
  }
}

if (options.help) console.log(HELP)
// A connection that was cut must not keep the process.
else process.exit((await main()) ? 0 : 1)
