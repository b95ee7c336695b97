import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, Stack, Tags, Validations } from 'aws-cdk-lib'
import { CfnQueue } from 'aws-cdk-lib/aws-sqs'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as v from 'valibot'
import { Addresses } from '#infra/aws/addresses.ts'
import { controlTowerRules } from '#infra/aws/control-tower.ts'
import { Tenantry } from '#infra/aws/tenantry.ts'
import { frontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import { STAGES } from '#infra/stages.ts'
import { OPTIONAL_ENTRIES, webBaseUrl } from './entries.ts'

let outdir: string
beforeAll(async () => {
  outdir = await mkdtemp(join(tmpdir(), 'tenantry-findings-'))
})
afterAll(() => rm(outdir, { recursive: true, force: true }))

it.each(['dev', 'prod'] as const)(
  '%s with every entry of cdk.json has no finding that is not acknowledged, and one stops synth',
  async (stage) => {
    const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))
    const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] }, outdir })
    const stack = new Tenantry(app, `tenantry-${stage}`, {
      stage,
      release: 'unknown',
      config: STAGES[stage],
      addresses: v.parse(Addresses, {
        ...context.tenantry[stage],
        webBaseUrl,
        ...OPTIONAL_ENTRIES,
      }),
      groups: await routeGroups(),
      workers: await workers(),
      frontEnd: await frontEnd(),
    })
    Tags.of(stack).add('stage', stage)
    // A queue that nothing encrypts shows that the rules ran.
    const queue = new CfnQueue(new Stack(app, 'planted'), 'Queue', { sqsManagedSseEnabled: false })
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app), controlTowerRules(app))
    expect(() => app.synth()).toThrow(queue.node.path)
    const { pluginReports } = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8'))
    const findings: string[] = pluginReports.flatMap(({ pluginName, violations }: any) =>
      violations.flatMap(({ ruleName, violatingConstructs }: any) =>
        // Some findings name no resource.
        (violatingConstructs.length > 0 ? violatingConstructs : [{}]).map(
          ({ constructPath }: any) => `${constructPath}: ${pluginName} ${ruleName}`,
        ),
      ),
    )
    const [planted, ours] = [true, false].map((of) =>
      findings.filter((each) => each.startsWith(queue.node.path) === of),
    )
    expect(ours).toEqual([])
    expect(planted?.join('\n')).toMatch(/AwsSolutions-SQS/)
    expect(planted?.join('\n')).toMatch(/cdk-validator-cfnguard/)
    // It stops synth by itself, although some of its findings are acknowledged.
    const guard = pluginReports.find(({ pluginName }: any) => pluginName === 'cdk-validator-cfnguard')
    expect(guard.conclusion).toBe('failure')
  },
  600_000,
)
