import { describe, expect, it } from 'vitest'
import { changeSet, examine } from '#infra/tools/change-set.ts'

interface Given {
  Action: string
  LogicalResourceId: string
  ResourceType: string
  Replacement?: string
  Details?: object[]
}

/** The output of `aws cloudformation describe-change-set`, of which the fields of no interest are left out. */
const output = (...changes: Given[]) =>
  JSON.stringify({
    ChangeSetName: 'release-1',
    Status: 'CREATE_COMPLETE',
    ExecutionStatus: 'AVAILABLE',
    Changes: changes.map((change) => ({ Type: 'Resource', ResourceChange: { Scope: ['Properties'], ...change } })),
  })

const CLUSTER = { LogicalResourceId: 'DatabaseCluster5B53A178', ResourceType: 'AWS::RDS::DBCluster' }
const PEPPER = { LogicalResourceId: 'SecretsPepperC047F0EC', ResourceType: 'AWS::SecretsManager::Secret' }
const CACHE = { LogicalResourceId: 'SecretsCache0A1B2C3D', ResourceType: 'AWS::SecretsManager::Secret' }
const SUBNET = { LogicalResourceId: 'NetworkVpcdatabaseSubnet1Subnet20641EE5', ResourceType: 'AWS::EC2::Subnet' }
const FUNCTION = { LogicalResourceId: 'dealsFunction1A2B3C4D', ResourceType: 'AWS::Lambda::Function' }
const changing = (Name: string) => [{ Target: { Attribute: 'Properties', Name, RequiresRecreation: 'Never' } }]

const run = (text: string, ...words: string[]) => {
  const said = { out: '', error: '' }
  const code = changeSet(words, text, {
    log: (line) => void (said.out += `${line}\n`),
    error: (line) => void (said.error += `${line}\n`),
  })
  return { code, ...said }
}

describe('the check of a change set', () => {
  it.each<[string, Given]>([
    ['replaces the database', { ...CLUSTER, Action: 'Modify', Replacement: 'True' }],
    ['may replace the database', { ...CLUSTER, Action: 'Modify', Replacement: 'Conditional' }],
    ['removes the database', { ...CLUSTER, Action: 'Remove' }],
    ['replaces a subnet of the database', { ...SUBNET, Action: 'Modify', Replacement: 'True' }],
    ['removes the pepper', { ...PEPPER, Action: 'Remove' }],
    [
      'generates the pepper again',
      { ...PEPPER, Action: 'Modify', Replacement: 'False', Details: changing('GenerateSecretString') },
    ],
  ])('refuses one that %s, unless its id is allowed', (_what, change) => {
    const text = output({ ...FUNCTION, Action: 'Modify', Replacement: 'False' }, change)
    const { code, error } = run(text)
    expect([code, error]).toEqual([1, expect.stringContaining(`${change.LogicalResourceId} holds data`)])
    expect(run(text, '--allow', change.LogicalResourceId)).toMatchObject({ code: 0, error: '' })
    expect(run(text, '--allow', FUNCTION.LogicalResourceId).code).toBe(1)
  })

  it('accepts what changes the settings of a database, adds a subnet, and replaces what holds no data', () => {
    const text = output(
      { ...CLUSTER, Action: 'Modify', Replacement: 'False', Details: changing('BackupRetentionPeriod') },
      { ...PEPPER, Action: 'Modify', Replacement: 'False', Details: changing('ReplicaRegions') },
      { ...CACHE, Action: 'Modify', Replacement: 'False', Details: changing('GenerateSecretString') },
      { ...SUBNET, Action: 'Add' },
      { ...FUNCTION, Action: 'Modify', Replacement: 'True' },
    )
    expect(run(text)).toMatchObject({ code: 0, error: '' })
    expect(run(output()).code).toBe(0)
  })

  it('lists what is replaced or removed before everything else', () => {
    const { lines } = examine(
      output(
        { ...SUBNET, Action: 'Add' },
        { ...FUNCTION, Action: 'Modify', Replacement: 'False' },
        { ...CLUSTER, Action: 'Modify', Replacement: 'Conditional' },
        { ...FUNCTION, LogicalResourceId: 'old', Action: 'Remove' },
      ),
    )
    expect(lines.map((line) => line.split(/ +/, 2).join(' '))).toEqual([
      'REPLACE? DatabaseCluster5B53A178',
      'REMOVE old',
      'Add NetworkVpcdatabaseSubnet1Subnet20641EE5',
      'Modify dealsFunction1A2B3C4D',
    ])
  })

  it('takes an empty change set for nothing, and no other text for one', () => {
    const failed = (StatusReason: string) => JSON.stringify({ Status: 'FAILED', StatusReason, Changes: [] })
    expect(run(failed("The submitted information didn't contain changes.")).code).toBe(0)
    for (const text of ['', '{}', failed('Template error'), JSON.stringify({ Status: 'CREATE_PENDING' })])
      expect(run(text).code).toBe(2)
    expect(run(output(), '--force').code).toBe(2)
    expect(run('', '--help')).toMatchObject({ code: 0, out: expect.stringContaining('describe-change-set') })
  })
})
