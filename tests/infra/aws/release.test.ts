import { describe, expect, it } from 'vitest'
import type { Synthesized } from './synthesized.ts'
import { aliased, deployedWorkers, functionsOf, other, prod } from './two-stages.ts'

describe('a release', () => {
  const aliases = (stage: Synthesized) => [...stage.resources].filter(([, { Type }]) => Type === 'AWS::Lambda::Alias')

  it('moves every function that callers invoke by its alias: 10 % first, and back when an alarm goes off', () => {
    const moved = aliases(prod).filter(([, { UpdatePolicy }]) => UpdatePolicy !== undefined)
    const names = moved.map(([id]) => prod.named({ Ref: id }))
    expect(names).toHaveLength(functionsOf(prod, 'prod').size - 1)
    expect(names.some((name) => name.includes('migrate'))).toBe(false)
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
    expect([...new Set([...alarms].map((name) => name.replace(/^tenantry-prod-|-\d$/g, '')))].toSorted()).toEqual([
      'api-errors',
      'api-latency',
      'decisions-failing',
      'functions-throttled',
      'page-errors',
      'release-errors',
      'release-failures',
    ])
  })

  it('watches the errors of every alias', () => {
    const watched = prod
      .ofType('AWS::CloudWatch::Alarm')
      .flatMap(({ Properties }) => Properties.Metrics ?? [])
      .flatMap(({ MetricStat }: any) => MetricStat?.Metric.Dimensions ?? [])
      .filter(({ Name }: any) => Name === 'Resource')
    expect(watched.map(({ Value }: any) => String(Value)).toSorted()).toEqual(
      [...functionsOf(prod, 'prod').keys()].map((name) => `tenantry-prod-${name}:live`).toSorted(),
    )
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
