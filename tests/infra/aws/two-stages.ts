import { frontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import type { Need } from '#shared/base/needs.ts'
import { type Synthesized, synthesized } from './synthesized.ts'

export const groups = await routeGroups()
export const deployedWorkers = await workers()
export const site = await frontEnd()

/** What every function declares that its template is derived from. */
export const declared = new Map<string, { needs: readonly Need[]; scheduled: boolean; kind: 'group' | 'worker' }>([
  ...groups.map(({ group: { name, needs } }) => [name, { needs, scheduled: false, kind: 'group' }] as const),
  [site.name, { needs: site.needs, scheduled: false, kind: 'group' }] as const,
  ...deployedWorkers.map(
    ({ worker: { name, needs, everySeconds } }) =>
      [name, { needs, scheduled: everySeconds !== undefined, kind: 'worker' }] as const,
  ),
])

export const ANOTHER_KEY = 'arn:aws:kms:us-east-1:123456789012:key/another'
export const COPY_VAULT = 'arn:aws:backup:us-west-2:210987654321:backup-vault:tenantry'
export const SNAPSHOT = 'arn:aws:rds:us-east-1:123456789012:cluster-snapshot:last'
const OWN_DOMAIN = { name: 'api.shop.test', certificateArn: 'arn:aws:acm:us-east-1:1:certificate/one' }

export const prod = await synthesized('prod')

/** A stage with keep: false, a proxy, its own domain and another vault key. */
export const other = await synthesized('dev', {
  database: { proxy: true },
  addresses: {
    apiDomain: OWN_DOMAIN,
    webDomain: { ...OWN_DOMAIN, name: 'app.shop.test' },
    vaultKeys: [ANOTHER_KEY],
    trustedProxies: ['203.0.113.0/24'],
    platform: {
      name: 'Prints',
      supportUrl: 'mailto:help@prints.test',
      links: [{ name: 'Quotes', url: 'https://quotes.prints.test' }],
    },
    zones: ['us-east-1b', 'us-east-1d'],
    recovery: { region: 'us-west-2', backupVaults: [COPY_VAULT] },
    restoreFrom: SNAPSHOT,
  },
})

/** Our functions by name without the stage. Leaves out those that the CDK adds. */
export const functionsOf = (stage: Synthesized, name: string) =>
  new Map(
    stage
      .ofType('AWS::Lambda::Function')
      .filter(({ Properties }) => Properties.FunctionName !== undefined)
      .map((each) => [String(each.Properties.FunctionName).replace(`tenantry-${name}-`, ''), each]),
  )

/** The function of an alias. */
export const aliased = (stage: Synthesized, alias: unknown) =>
  stage.referred(stage.referred(alias).Properties.FunctionName)
