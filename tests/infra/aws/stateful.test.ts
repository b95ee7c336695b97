import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isStateful, stackPolicy, STATEFUL, statefulOf } from '#infra/aws/stateful.ts'
import { BASELINE, STACK_POLICY } from '#infra/tools/baseline.ts'
import { OPTIONAL_ENTRIES, webBaseUrl } from './entries.ts'
import { listed, type Synthesized, synthesized } from './synthesized.ts'

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
const found = ({ resources }: Synthesized) => statefulOf(Object.fromEntries(resources))
const UPDATE = 'npm run baseline writes it. CloudFormation replaces what differs, and the data is gone'

describe('the resources that hold data', () => {
  it.each(['dev', 'staging', 'prod'] as const)(
    'of %s have the ids and the create-only properties of the committed baseline',
    async (stage) => {
      expect(found(await synthesized(stage)), UPDATE).toEqual(read(BASELINE)[`tenantry-${stage}`])
    },
  )

  it('are the database with its network, the keys, the pepper, the mail key, the mail domain, the events and the backups', async () => {
    const every = await synthesized('prod', { addresses: { webBaseUrl, ...OPTIONAL_ENTRIES } })
    const types = Object.values(found(every)).map(({ Type }) => Type)
    expect(new Set(types)).toEqual(new Set(Object.keys(STATEFUL)))
    expect(types.filter((type) => type === 'AWS::KMS::Key')).toHaveLength(3)
    expect(types.filter((type) => type === 'AWS::SecretsManager::Secret')).toHaveLength(2)
    expect(types.filter((type) => type === 'AWS::EC2::Subnet')).toHaveLength(6)
  })

  it('differ from the baseline with another CIDR, zone, snapshot to begin with and mail domain', async () => {
    const { cidr, zones, restoreFrom } = OPTIONAL_ENTRIES
    const addresses = { cidr, zones: [zones[0], zones[1]] as [string, string], restoreFrom, mailDomain: 'm.shop.test' }
    const [now, before] = [found(await synthesized('prod', { addresses })), read(BASELINE)['tenantry-prod']]
    const changed = Object.keys(before).filter((id) => JSON.stringify(now[id]) !== JSON.stringify(before[id]))
    const subnets = ['public', 'functions', 'database'].flatMap((name) =>
      [1, 2].map((zone) => `NetworkVpc${name}Subnet${zone}Subnet`),
    )
    expect(changed.map((id) => id.replace(/[0-9A-F]{8}$/, '')).toSorted()).toEqual(
      ['DatabaseCluster', 'MailIdentity', 'NetworkVpc', ...subnets].toSorted(),
    )
  })

  it('differ from the baseline with another way of generating the pepper, and with another kind of vault key', async () => {
    const changed = structuredClone(Object.fromEntries((await synthesized('prod')).resources)) as Record<string, any>
    const [pepper = '', vault = ''] = ['SecretsPepper', 'KeysVault'].map((begin) =>
      Object.keys(changed).find((id) => id.startsWith(begin)),
    )
    changed[pepper].Properties.GenerateSecretString.PasswordLength = 65
    changed[vault].Properties.MultiRegion = false
    const [now, before] = [statefulOf(changed), read(BASELINE)['tenantry-prod']]
    for (const id of [pepper, vault]) expect(now[id]).not.toEqual(before[id])
  })
})

describe('the stack policy', () => {
  const policy = read(STACK_POLICY)

  /** Whether CloudFormation may do this to a resource: a denial wins, and what no statement names is denied. */
  const allows = (action: string, id: string, type: string): boolean => {
    const applying = policy.Statement.filter(
      ({ Action, Resource, Condition }: any) =>
        listed<string>(Action).some((each) => each === action || each === 'Update:*') &&
        listed<string>(Resource).some((each) => each === '*' || each === `LogicalResourceId/${id}`) &&
        (Condition === undefined || Condition.StringEquals.ResourceType.includes(type)),
    )
    return applying.length > 0 && applying.every(({ Effect }: any) => Effect === 'Allow')
  }

  it('forbids to replace or delete each of them, and nothing else', async () => {
    for (const stage of ['dev', 'staging', 'prod'] as const) {
      const { resources } = await synthesized(stage)
      for (const [id, { Type }] of resources)
        for (const action of ['Update:Replace', 'Update:Delete'])
          expect(allows(action, id, Type), `${action} ${id}`).toBe(!isStateful(id, Type))
    }
  })

  it('lets a deployment change the settings of the database, and never the pepper', async () => {
    const { resources } = await synthesized('prod')
    const pepper = [...resources.keys()].find((id) => id.startsWith('SecretsPepper')) ?? ''
    expect(allows('Update:Modify', 'DatabaseCluster5B53A178', 'AWS::RDS::DBCluster')).toBe(true)
    expect(allows('Update:Modify', pepper, 'AWS::SecretsManager::Secret')).toBe(false)
    expect(policy).toEqual(stackPolicy(Object.values<object>(read(BASELINE)).flatMap((stage) => Object.keys(stage))))
  })
})
