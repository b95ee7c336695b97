import { describe, expect, it } from 'vitest'
import { STAGES } from '#infra/stages.ts'
import { misfits, overlap, statementsOf } from './authorization.ts'
import { EACH_ENTRY, OPTIONAL_ENTRIES, webBaseUrl } from './entries.ts'
import { listed, type Synthesized, synthesized } from './synthesized.ts'

type Name = keyof typeof STAGES

const all = (stage: Name) => synthesized(stage, { addresses: { webBaseUrl, ...OPTIONAL_ENTRIES } })

/** Each stage as checked in, and with every optional entry; and a stage with each of them alone. */
const TEMPLATES: readonly (readonly [name: string, () => Promise<Synthesized>])[] = [
  ...(Object.keys(STAGES) as Name[]).flatMap((stage) => [
    [`${stage} as checked in`, () => synthesized(stage)] as const,
    [`${stage} with every entry`, () => all(stage)] as const,
  ]),
  ...EACH_ENTRY.map(
    ([name, addresses]) => [`staging with ${name}`, () => synthesized('staging', { addresses })] as const,
  ),
]

const length = (value: unknown): number => JSON.stringify(value ?? '').length

/** The size of each thing that AWS limits, in the unit of the limit. */
function sizes(stage: Synthesized) {
  const of = (type: string) => stage.ofType(type).map(({ Properties }) => Properties)
  const largest = (values: readonly number[]) => Math.max(0, ...values)
  const perRole = Map.groupBy(of('AWS::IAM::Policy'), ({ Roles }) => JSON.stringify(Roles))
  const permissions = Map.groupBy(of('AWS::Lambda::Permission'), ({ FunctionName }) => JSON.stringify(FunctionName))
  return {
    // CloudFormation accepts 500 and 200, and a file of 1,000,000 bytes. 430 are the goal; a group and two workers, which a test adds, are 24 more.
    resources: [stage.resources.size, 454],
    outputs: [stage.outputs.size, 60],
    'bytes of the template': [stage.bytes, 700_000],
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html, without whitespace.
    'characters of a role’s policies': [
      largest(
        [...perRole.values()].map((policies) => policies.reduce((sum, each) => sum + length(each.PolicyDocument), 0)),
      ),
      10_240,
    ],
    'characters of a role’s trust': [
      largest(of('AWS::IAM::Role').map((role) => length(role.AssumeRolePolicyDocument))),
      2048,
    ],
    'bytes of a key’s policy': [largest(of('AWS::KMS::Key').map((key) => length(key.KeyPolicy))), 32_768],
    'permissions of an alias': [largest([...permissions.values()].map((each) => each.length)), 40],
    // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    'bytes of an environment': [
      largest(of('AWS::Lambda::Function').map((each) => length(each.Environment?.Variables))),
      4096,
    ],
    'metrics of an alarm': [
      largest(of('AWS::CloudWatch::Alarm').map((each) => (each.Metrics ?? []).filter((m: any) => m.MetricStat).length)),
      10,
    ],
    'alarms that stop a release': [
      largest(of('AWS::CodeDeploy::DeploymentGroup').map((each) => each.AlarmConfiguration.Alarms.length)),
      10,
    ],
    // https://docs.aws.amazon.com/waf/latest/developerguide/limits.html
    'rules of a firewall': [largest(of('AWS::WAFv2::WebACL').map((each) => each.Rules.length)), 20],
    'characters of a dashboard': [
      largest(of('AWS::CloudWatch::Dashboard').map((each) => length(each.DashboardBody))),
      100_000,
    ],
  } as const
}

describe.each(TEMPLATES)('the template of %s', (_name, made) => {
  it('has only policies that AWS applies: each action exists, fits its resource, and has the keys of its condition', async () => {
    const stage = await made()
    const statements = statementsOf(stage)
    expect(statements.length).toBeGreaterThan(150)
    const faults = await Promise.all(statements.map((each) => misfits(stage, each)))
    expect([...new Set(faults.flat())]).toEqual([])
  })

  it('stays below the limits of AWS', async () => {
    const exceeded = Object.entries(sizes(await made())).filter(([, [size, limit]]) => size > limit)
    expect(Object.fromEntries(exceeded)).toEqual({})
  })

  it('fits beside the same stage in another Region: no name is taken in the whole account', async () => {
    const stage = await made()
    for (const { Properties } of stage.ofType('AWS::Budgets::Budget'))
      expect(JSON.stringify(Properties.Budget.BudgetName)).toMatch(/AWS::Region|us-east-1/)
    for (const type of ['AWS::IAM::Role', 'AWS::IAM::ManagedPolicy', 'AWS::IAM::User', 'AWS::S3::Bucket'])
      for (const { Properties = {} } of stage.ofType(type))
        for (const name of ['RoleName', 'ManagedPolicyName', 'UserName', 'BucketName'])
          expect(Properties[name], type).toBeUndefined()
  })

  it('lets an administrator replicate the vault key to another Region, with its policy', async () => {
    const stage = await made()
    const { MultiRegion, KeyPolicy } = stage.one('AWS::KMS::Key', 'KeysVault').Properties
    const root = KeyPolicy.Statement.find(({ Principal }: any) => JSON.stringify(Principal).includes(':root'))
    expect(listed(root.Action)).toEqual(expect.arrayContaining(['kms:ReplicateKey', 'kms:UpdatePrimaryRegion']))
    expect(typeof MultiRegion).toBe('boolean')
  })
})

describe('the check of policies', () => {
  const stage = () => synthesized('prod')
  const faults = async (statement: object) => misfits(await stage(), { id: 'it', statement, bare: false })
  const NAME = 'arn:aws:lambda:us-east-1:111122223333:function:tenantry-prod-auth'

  it.each([
    ['an action that does not exist', { Action: 'kms:ReplicateKeys', Resource: '*' }, /no action kms:ReplicateKeys/],
    [
      'an action on aliases whose resource is a function',
      { Action: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig'], Resource: NAME },
      /GetProvisionedConcurrencyConfig never applies/,
    ],
    [
      'a resource that no action is for',
      { Action: 'kms:Decrypt', Resource: ['arn:aws:kms:us-east-1:1:key/x', NAME] },
      /no action applies to .*auth/,
    ],
    [
      'an action without resources that names one',
      { Action: 'ec2:DescribeSubnets', Resource: NAME },
      /DescribeSubnets never applies/,
    ],
    [
      'a condition key of another service',
      { Action: 'events:PutEvents', Resource: '*', Condition: { StringEquals: { 'kms:ViaService': 'x' } } },
      /no condition key kms:ViaService/,
    ],
    [
      'a global key that does not exist',
      { Action: 'events:PutEvents', Resource: '*', Condition: { StringEquals: { 'aws:SourceAcount': '1' } } },
      /no condition key aws:SourceAcount/,
    ],
  ])('finds %s', async (_what, statement, fault) => {
    expect((await faults(statement)).join('\n')).toMatch(fault)
  })

  it('knows which names a pattern covers', () => {
    const form = 'arn:${Partition}:lambda:${Region}:${Account}:function:${FunctionName}:${Alias}'
    expect([NAME, `${NAME}:live`, `${NAME}*`, `${NAME}:*`].map((each) => overlap(each, form))).toEqual([
      false,
      true,
      true,
      true,
    ])
  })
})
