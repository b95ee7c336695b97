import { App, Tags, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import * as v from 'valibot'
import { Addresses } from './aws/addresses.ts'
import { Tenantry } from './aws/tenantry.ts'
import { jobs, routeGroups } from './route-groups.ts'
import { STAGES } from './stages.ts'

const app = new App()
const addresses = v.parse(v.record(v.string(), Addresses), app.node.tryGetContext('tenantry'))
const [groups, scheduled] = [await routeGroups(), await jobs()]
for (const [stage, numbers] of Object.entries(STAGES)) {
  const where = addresses[stage]
  if (where === undefined) throw new Error(`cdk.json has no addresses of the stage ${stage}`)
  const stack = new Tenantry(app, `tenantry-${stage}`, { stage, numbers, addresses: where, groups, jobs: scheduled })
  Tags.of(stack).add('service', 'tenantry')
  Tags.of(stack).add('stage', stage)
}
Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app))
