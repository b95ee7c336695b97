import { App, Tags } from 'aws-cdk-lib'
import * as v from 'valibot'
import { Addresses } from './aws/addresses.ts'
import { SecondRegion } from './aws/second-region.ts'

const MULTI_REGION_KEY = /^arn:aws[\w-]*:kms:([\w-]+):(\d{12}):key\/mrk-[0-9a-f]{32}$/

/**
 * Adds the stack of a stage for another Region to an app, by `account` and `recovery` of the stage in cdk.json. Requires `-c stage=STAGE` and `-c
 * vaultKey=ARN`. Throws when the key is not a multi-Region key of the stage's account, in another Region than that of `recovery`.
 */
export function addSecondRegion(app: App): SecondRegion {
  const text = (name: string) => v.parse(v.string(`-c ${name} is missing`), app.node.tryGetContext(name))
  const stage = text('stage')
  const vaultKeyArn = text('vaultKey')
  const stages = v.parse(v.record(v.string(), Addresses), app.node.tryGetContext('tenantry'))
  const { account, recovery } = stages[stage] ?? {}
  if (account === undefined || recovery === undefined)
    throw new Error(`cdk.json has no account or no recovery for the stage ${stage}`)
  const [, region, owner] = MULTI_REGION_KEY.exec(vaultKeyArn) ?? []
  if (region === undefined || owner !== account || region === recovery.region)
    throw new Error(`-c vaultKey is no multi-Region key of the account ${account} outside of ${recovery.region}`)
  const env = { account, region: recovery.region }
  const stack = new SecondRegion(app, `tenantry-${stage}-second-region`, { stage, vaultKeyArn, env })
  Tags.of(stack).add('service', 'tenantry')
  Tags.of(stack).add('stage', stage)
  return stack
}

if (import.meta.main) addSecondRegion(new App())
