import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { App } from 'aws-cdk-lib'
import * as v from 'valibot'
import { Addresses } from '#infra/aws/addresses.ts'
import { Tenantry } from '#infra/aws/tenantry.ts'
import { bill, type Line, type Resource, total } from '#infra/cost/bill.ts'
import { type Load, LOADS } from '#infra/cost/loads.ts'
import { PRICES, PRICES_OF } from '#infra/cost/prices.ts'
import { frontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import { STAGES } from '#infra/stages.ts'
import { writeGenerated } from './generated.ts'

export const README = fileURLToPath(new URL('../README.md', import.meta.url))
const MARKERS = /(?<=<!-- costs:begin -->\n).*(?=<!-- costs:end -->)/s

// Stages with pages have both domains.
const domain = (name: string) => ({ name, certificateArn: 'arn:aws:acm:us-east-1:111122223333:certificate/one' })
export const DOMAINS = { apiDomain: domain('api.shop.example'), webDomain: domain('app.shop.example') }

type Resources = ReadonlyMap<Load['stage'], readonly Resource[]>

/** Returns the resources of each stage that a load names, synthesized without bundling any function. */
async function templates(): Promise<Resources> {
  const { context } = JSON.parse(await readFile('cdk.json', 'utf8'))
  const functions = { groups: await routeGroups(), workers: await workers(), frontEnd: await frontEnd() }
  const names = [...new Set(LOADS.map(({ stage }) => stage))]
  return new Map(
    names.map((stage) => {
      const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } })
      const addresses = v.parse(Addresses, {
        ...context.tenantry[stage],
        ...DOMAINS,
        webBaseUrl: `https://${DOMAINS.webDomain.name}`,
      })
      const stack = new Tenantry(app, `tenantry-${stage}`, {
        stage,
        release: 'unknown',
        config: STAGES[stage],
        addresses,
        ...functions,
      })
      return [stage, Object.values(app.synth().getStackArtifact(stack.artifactId).template.Resources)]
    }),
  )
}

const usd = (amount: number): string => Math.round(amount).toLocaleString('en-US')

/** Returns the bills as a table of Markdown. */
export function sheet(bills: readonly (readonly [Load, readonly Line[]])[]): string {
  const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const lines = bills[0]?.[1] ?? []
  const reached = (load: Load, bill: readonly Line[]) => (total(bill) <= load.aim ? 'reached' : 'not reached')
  return [
    row('USD a month', ...bills.map(([{ name }]) => name)),
    `|${'---|'.repeat(bills.length + 1)}`,
    row('', ...bills.map(([{ says }]) => says)),
    ...lines.map(({ name }, index) => row(name, ...bills.map(([, bill]) => usd(bill[index]?.usd ?? 0)))),
    row('**together**', ...bills.map(([, bill]) => `**${usd(total(bill))}**`)),
    row('aim', ...bills.map(([load, bill]) => `${usd(load.aim)}, ${reached(load, bill)}`)),
  ].join('\n')
}

const prices = (): string =>
  [...new Set(Object.values(PRICES).map(({ page }) => page))]
    .map((page) => {
      const listed = Object.entries(PRICES)
        .filter(([, price]) => price.page === page)
        .map(
          ([, price]) =>
            `${'usd' in price ? price.usd : price.tiers.map(([, each]) => each).join(', then ')} for a ${price.per}`,
        )
      return `- [${page.split('/').slice(3, -2).join(' ')}](${page}): ${listed.join('; ')}`
    })
    .join('\n')

/** Returns the text with the bills of these resources between its markers. */
export function withCosts(text: string, resources: Resources): string {
  if (!MARKERS.test(text)) throw new Error('infra/README.md has no markers for the costs')
  const bills = LOADS.map((load) => [load, bill(resources.get(load.stage) ?? [], load)] as const)
  const block = `${sheet(bills)}\n\nList prices of us-east-1 in USD, as known on ${PRICES_OF}:\n\n${prices()}`
  return text.replace(MARKERS, `\n${block}\n\n`)
}

if (import.meta.main) {
  const generated = withCosts(await readFile(README, 'utf8'), await templates())
  if (!process.argv.includes('--check')) console.log(MARKERS.exec(generated)?.[0].trim())
  await writeGenerated(README, generated, 'npm run cost')
}
