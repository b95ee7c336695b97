import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bill, total } from '#infra/cost/bill.ts'
import { type Load, LOADS } from '#infra/cost/loads.ts'
import { cost, PRICES } from '#infra/cost/prices.ts'
import { DOMAINS, README, withCosts } from '#infra/tools/cost.ts'
import { synthesized } from './synthesized.ts'

const idle = LOADS.find(({ name }) => name === 'idle dev')
if (idle === undefined) throw new Error('no load is an idle dev')
const addresses = { ...DOMAINS, webBaseUrl: `https://${DOMAINS.webDomain.name}` }
const resourcesOf = async (stage: Load['stage']) => [...(await synthesized(stage, { addresses })).resources.values()]

describe('the bill of a stage', () => {
  it('is what infra/README.md says', async () => {
    const text = readFileSync(README, 'utf8')
    const resources = new Map([
      ['dev', await resourcesOf('dev')],
      ['prod', await resourcesOf('prod')],
    ] as const)
    expect(withCosts(text, resources), 'run npm run cost').toBe(text)
  })

  it('keeps an idle dev below 90 USD and a small prod below 450', async () => {
    for (const load of LOADS.filter(({ name }) => name !== 'big prod'))
      expect(total(bill(await resourcesOf(load.stage), load)), load.name).toBeLessThanOrEqual(load.aim)
  })

  it('counts each resource with a price of its own', async () => {
    const dev = await resourcesOf('dev')
    const more = (Type: string, Properties: object) =>
      total(bill([...dev, { Type, Properties }], idle)) - total(bill(dev, idle))
    expect(more('AWS::EC2::NatGateway', {})).toBeGreaterThan(730 * 0.045)
    expect(more('AWS::RDS::DBInstance', {})).toBeCloseTo(730 * 0.12 * 0.5)
    expect(more('AWS::SecretsManager::Secret', {})).toBeCloseTo(0.4)
    expect(more('AWS::CloudWatch::Alarm', { Metrics: [{ MetricStat: {} }, { MetricStat: {} }, {}] })).toBeCloseTo(0.2)
    expect(more('AWS::WAFv2::WebACL', { Rules: [{}, {}] })).toBeGreaterThan(7)
    expect(more('AWS::Scheduler::Schedule', { ScheduleExpression: 'rate(1 minute)' })).toBeGreaterThan(0)
  })

  it('prices a volume by its tiers', () => {
    expect(cost('gateway', 333)).toBeCloseTo(333 * 3.5)
    expect(cost('gateway', 2000)).toBeCloseTo(333 * 3.5 + 667 * 2.8 + 1000 * 2.38)
  })

  it('names a page of AWS for each price', () => {
    for (const { page } of Object.values(PRICES))
      expect(page).toMatch(/^https:\/\/aws\.amazon\.com\/[\w/-]+\/pricing\/$/)
  })
})
