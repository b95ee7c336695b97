import { describe, expect, it } from 'vitest'
import { alarmEntries } from '#infra/aws/alarm-table.ts'
import { type Synthesized, synthesized } from './synthesized.ts'
import { aliased, deployedWorkers, functionsOf, groups, other, prod, site } from './two-stages.ts'

const called = await synthesized('staging', {
  addresses: { credentialCallers: { catalog: 'arn:aws:iam::111122223333:role/catalog' } },
})

describe('a release', () => {
  const aliases = (stage: Synthesized) => [...stage.resources].filter(([, { Type }]) => Type === 'AWS::Lambda::Alias')

  /** The name of the function of an alias, without the stage. */
  const nameOf = (stage: Synthesized, id: string) =>
    String(aliased(stage, { Ref: id }).Properties.FunctionName)
      .split('-')
      .slice(2)
      .join('-')

  it('moves every function that serves requests by its alias: 10 % first, and back when an alarm goes off', () => {
    const moved = aliases(prod).filter(([, { UpdatePolicy }]) => UpdatePolicy !== undefined)
    const serving = [...groups.map(({ group }) => group.name), site.name, 'authorize']
    expect(moved.map(([id]) => nameOf(prod, id)).toSorted()).toEqual(serving.toSorted())
    const alarms = new Set<string>()
    for (const [, { UpdatePolicy, Properties }] of moved) {
      expect(Properties.Name).toBe('live')
      const { ApplicationName, DeploymentGroupName } = UpdatePolicy.CodeDeployLambdaAliasUpdate
      expect(prod.referred(ApplicationName).Type).toBe('AWS::CodeDeploy::Application')
      const group = prod.referred(DeploymentGroupName).Properties
      expect(group).toMatchObject({
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
        AutoRollbackConfiguration: { Enabled: true, Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM']) },
        AlarmConfiguration: { Enabled: true },
      })
      // CodeDeploy accepts ten.
      expect(group.AlarmConfiguration.Alarms.length).toBeLessThanOrEqual(10)
      for (const { Name } of group.AlarmConfiguration.Alarms) alarms.add(prod.referred(Name).Properties.AlarmName)
    }
    const stopping = alarmEntries().filter(({ entry }) => entry.stopsReleases === true)
    expect([...new Set([...alarms].map((name) => name.replace(/^tenantry-prod-|-\d$/g, '')))].toSorted()).toEqual(
      stopping.map(({ name }) => name).toSorted(),
    )
  })

  it('moves the alias of each service that opens credentials in the same way', () => {
    const alias = called.one('AWS::Lambda::Alias', 'JobsopencredentialServicecatalog')
    expect(alias.UpdatePolicy.CodeDeployLambdaAliasUpdate).toBeDefined()
  })

  it('starts at most five canaries together, those of the pages after those of the API, and moves the workers last', () => {
    const waveOf = (id: string): number => {
      const before = (called.resources.get(id)?.DependsOn ?? []).filter(
        (each) => called.resources.get(each)?.Type === 'AWS::Lambda::Alias',
      )
      return before.length === 0 ? 0 : 1 + waveOf(before[0] ?? '')
    }
    const waves = Map.groupBy(
      aliases(called).filter(([id]) => nameOf(called, id) !== 'migrate'),
      ([id]) => waveOf(id),
    )
    const last = waves.size - 1
    const groupNames = new Set(groups.map(({ group }) => group.name))
    for (const [wave, members] of waves) {
      const canaries = members.filter(([, { UpdatePolicy }]) => UpdatePolicy !== undefined)
      expect(canaries.length, `wave ${wave}`).toBeLessThanOrEqual(5)
      expect(canaries.length === 0, `wave ${wave}`).toBe(wave === last)
      for (const [id] of members) expect(groupNames.has(nameOf(called, id)), id).toBe(wave < last - 1)
    }
  })

  it('runs the migrations, then updates the functions, then moves their traffic, then changes the paths of the API', () => {
    const [trigger] = [...prod.resources].find(([, { Type }]) => Type === 'Custom::Trigger') ?? []
    for (const [id, { Properties }] of aliases(prod)) {
      const lambda = aliased(prod, { Ref: id })
      if (lambda !== functionsOf(prod, 'prod').get('migrate')) expect(lambda.DependsOn, id).toContain(trigger)
      const version = prod.referred(Properties.FunctionVersion)
      expect(prod.referred(version.Properties.FunctionName)).toBe(lambda)
    }
    expect(JSON.stringify(prod.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.Body)).toContain('Live')
  })

  it('retries no failed run of a worker, whose alias has settings of its own for asynchronous invocations', () => {
    const scheduled = deployedWorkers.filter(({ worker }) => worker.everySeconds !== undefined)
    const settings = prod.ofType('AWS::Lambda::EventInvokeConfig').map(({ Properties }) => Properties)
    expect(settings).toHaveLength(scheduled.length)
    for (const { Qualifier, MaximumRetryAttempts } of settings) {
      expect(JSON.stringify(Qualifier)).toMatch(/"Ref":"Jobs\w+Live/)
      expect(MaximumRetryAttempts).toBe(0)
    }
  })

  it('goes to all at once in dev, which nobody depends on', () => {
    expect(other.ofType('AWS::CodeDeploy::DeploymentGroup')).toEqual([])
    for (const [, { UpdatePolicy }] of aliases(other)) expect(UpdatePolicy).toBeUndefined()
  })
})
