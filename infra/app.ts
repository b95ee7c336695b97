import { fileURLToPath } from 'node:url'
import { Annotations, App, Tags, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import * as v from 'valibot'
import { Addresses, addressFaults } from './aws/addresses.ts'
import { controlTowerRules } from './aws/control-tower.ts'
import { Tenantry } from './aws/tenantry.ts'
import { commitOf } from './commit.ts'
import { frontEnd, routeGroups, workers } from './route-groups.ts'
import { STAGES } from './stages.ts'

const app = new App()
const addresses = v.parse(v.record(v.string(), Addresses), app.node.tryGetContext('tenantry'))
const named: unknown = app.node.tryGetContext('release')
const release = typeof named === 'string' ? named : commitOf(fileURLToPath(new URL('..', import.meta.url)))
const functions = { groups: await routeGroups(), workers: await workers(), frontEnd: await frontEnd() }
for (const [stage, config] of Object.entries(STAGES)) {
  const stageAddresses = addresses[stage]
  if (stageAddresses === undefined) throw new Error(`cdk.json names no addresses for the stage ${stage}`)
  const stack = new Tenantry(app, `tenantry-${stage}`, {
    stage,
    release,
    config: { ...config, canary: config.canary && app.node.tryGetContext('canary') !== 'off' },
    addresses: stageAddresses,
    ...functions,
  })
  // An error stops what is done with this stack, and not what is done with another.
  if (config.database.keep && app.node.tryGetContext('placeholders') !== 'allowed')
    for (const fault of addressFaults(stageAddresses)) Annotations.of(stack).addError(`cdk.json, ${stage}: ${fault}`)
  Tags.of(stack).add('service', 'tenantry')
  Tags.of(stack).add('stage', stage)
}
Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app), controlTowerRules(app))
