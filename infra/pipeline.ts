import { App, Tags } from 'aws-cdk-lib'
import * as v from 'valibot'
import { Addresses } from './aws/addresses.ts'
import { Pipeline } from './aws/pipeline.ts'

const MISSING = '-c repository=OWNER/NAME is missing'
const Repository = v.pipe(v.string(MISSING), v.regex(/^[\w.-]+\/[\w.-]+$/, MISSING))

/**
 * Adds the stack of each stage's pipeline to an app. `-c repository=OWNER/NAME` is required. `-c provider=exists` is for an account that has
 * GitHub's identity provider. Throws for another repository than that.
 */
export function addPipelines(app: App): Pipeline[] {
  const repository = v.parse(Repository, app.node.tryGetContext('repository'))
  const hasProvider = app.node.tryGetContext('provider') === 'exists'
  const stages = v.parse(v.record(v.string(), Addresses), app.node.tryGetContext('tenantry'))
  return Object.entries(stages).map(([stage, { account, region }]) => {
    const env = account === undefined || region === undefined ? {} : { env: { account, region } }
    const stack = new Pipeline(app, `tenantry-${stage}-pipeline`, { stage, repository, hasProvider, ...env })
    Tags.of(stack).add('service', 'tenantry')
    Tags.of(stack).add('stage', stage)
    return stack
  })
}

if (import.meta.main) addPipelines(new App())
