import { Annotations, type App, Tags } from 'aws-cdk-lib'
import * as v from 'valibot'
import { Addresses, addressFaults } from './aws/addresses.ts'
import { Tenantry } from './aws/tenantry.ts'
import { frontEnd, routeGroups, workers } from './route-groups.ts'
import { STAGES } from './stages.ts'

/** Adds the stack of each stage to an app, with the entries of cdk.json and with `-c canary` and `-c placeholders`. */
export async function addStacks(app: App, release: string): Promise<Tenantry[]> {
  const addresses = v.parse(v.record(v.string(), Addresses), app.node.tryGetContext('tenantry'))
  const functions = { groups: await routeGroups(), workers: await workers(), frontEnd: await frontEnd() }
  return Object.entries(STAGES).map(([stage, config]) => {
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
    return stack
  })
}
