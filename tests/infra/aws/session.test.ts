import { describe, expect, it } from 'vitest'
import { functionsOf, prod } from './two-stages.ts'

describe('the way of a person to the database', () => {
  const task = prod.one('AWS::ECS::TaskDefinition').Properties

  it('is a task that nothing starts, and that ends after an hour', () => {
    expect(prod.ofType('AWS::ECS::Service')).toEqual([])
    expect(task.ContainerDefinitions[0].Command).toEqual(['sleep', '3600'])
  })

  it('writes what is typed and shown to an encrypted log of the stage', () => {
    const { Logging, LogConfiguration } =
      prod.one('AWS::ECS::Cluster').Properties.Configuration.ExecuteCommandConfiguration
    expect([Logging, LogConfiguration.CloudWatchEncryptionEnabled]).toEqual(['OVERRIDE', true])
    const group = prod.referred(LogConfiguration.CloudWatchLogGroupName).Properties
    expect(group.LogGroupName).toBe('/tenantry/prod/session')
    expect(group.KmsKeyId).toBeDefined()
  })

  it('has the login that migrates, and no other secret', () => {
    const { DATABASE_SECRET_ID } = functionsOf(prod, 'prod').get('migrate')?.Properties.Environment.Variables ?? {}
    const names = task.ContainerDefinitions[0].Secrets.map(({ ValueFrom }: any) => JSON.stringify(ValueFrom))
    for (const name of names) expect(name).toContain(JSON.stringify(DATABASE_SECRET_ID))
    expect(task.ContainerDefinitions[0].Environment).toBeUndefined()
  })

  it('may decrypt that secret', () => {
    const policy = JSON.stringify(prod.one('AWS::KMS::Key', 'KeysService').Properties.KeyPolicy)
    expect(policy).toContain('"SessionRole')
  })
})
