import { readFileSync } from 'node:fs'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { describe, expect, it } from 'vitest'
import { watchEnvironment } from '#infra/aws/pipeline.ts'
import { addPipelines } from '#infra/pipeline.ts'
import { STAGES } from '#infra/stages.ts'
import { misfits, statementsOf } from './authorization.ts'
import { listed } from './synthesized.ts'

const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))
const repository = 'shop/tenantry'

function made(more: object = {}) {
  const pinned = { ...context.tenantry.prod, account: '111122223333', region: 'us-east-1' }
  const tenantry = { ...context.tenantry, prod: pinned }
  const app = new App({ context: { ...context, repository, tenantry, ...more } })
  const stacks = addPipelines(app).map((stack) => {
    const resources = new Map<string, any>(Object.entries(Template.fromStack(stack).toJSON()['Resources']))
    return [stack.stackName.replace(/^tenantry-|-pipeline$/g, ''), resources] as const
  })
  return new Map(stacks)
}

const stages = made()
const role = (resources: ReadonlyMap<string, any>, begin: string) =>
  [...resources].find(([id, { Type }]) => Type === 'AWS::IAM::Role' && id.startsWith(begin))?.[1].Properties
const statements = (resources: ReadonlyMap<string, any>, begin: string): any[] =>
  [...resources.values()]
    .filter(({ Type, Properties }) => Type === 'AWS::IAM::Policy' && Properties.Roles[0].Ref.startsWith(begin))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)

describe('the roles of the pipeline', () => {
  it('exist for each stage, and have only policies that AWS applies', async () => {
    expect([...stages.keys()].toSorted()).toEqual(Object.keys(STAGES).toSorted())
    for (const resources of stages.values()) {
      const all = statementsOf({ resources })
      expect(all.length).toBeGreaterThan(5)
      const faults = await Promise.all(all.map((each) => misfits({ resources }, each)))
      expect(faults.flat()).toEqual([])
    }
  })

  it('can be assumed by the jobs of one GitHub environment of one repository, and by nobody else', () => {
    for (const [stage, resources] of stages)
      for (const [begin, environment] of [
        ['Deploy', stage],
        ['Watch', watchEnvironment(stage)],
      ] as const) {
        const [trust, second] = role(resources, begin).AssumeRolePolicyDocument.Statement
        expect(second).toBeUndefined()
        expect(trust.Action).toBe('sts:AssumeRoleWithWebIdentity')
        expect(Object.keys(trust.Principal)).toEqual(['Federated'])
        expect(trust.Condition).toEqual({
          StringEquals: {
            'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
            'token.actions.githubusercontent.com:sub': `repo:${repository}:environment:${environment}`,
          },
        })
      }
  })

  it('reach no other stage: the deploying one assumes the roles of the bootstrap of its account, and no other', () => {
    const resources = stages.get('prod') ?? new Map()
    const deploys = statements(resources, 'Deploy')
    expect(deploys.map(({ Action }) => Action)).toEqual(['sts:AssumeRole', expect.any(Array)])
    expect(JSON.stringify(deploys[0].Resource)).toMatch(
      /^(?=.*cdk-hnb659fds-deploy-role-111122223333-us-east-1)(?!.*\*)/,
    )
    expect(JSON.stringify(deploys[1].Resource)).toContain(':stack/tenantry-prod/*')
    expect(role(resources, 'Deploy').ManagedPolicyArns).toBeUndefined()
  })

  it('that only watches changes nothing, and reads no log, secret, file or message', () => {
    for (const resources of stages.values()) {
      const [allowed, denied] = ['Allow', 'Deny'].map((effect) =>
        statements(resources, 'Watch')
          .filter(({ Effect }) => Effect === effect)
          .flatMap(({ Action }) => listed<string>(Action)),
      )
      expect(allowed).toEqual(['cloudformation:DetectStackDrift', 'cloudformation:DetectStackResourceDrift'])
      for (const action of ['logs:StartQuery', 'logs:FilterLogEvents', 'secretsmanager:GetSecretValue', 's3:GetObject'])
        expect(denied).toContain(action)
    }
  })

  it('share the identity provider of an account that has one, and need the name of the repository', () => {
    const providers = (resources: ReadonlyMap<string, any>) =>
      [...resources.values()].filter(({ Type }) => Type === 'AWS::IAM::OIDCProvider').length
    expect([...stages.values()].map(providers)).toEqual([1, 1, 1])
    expect([...made({ provider: 'exists' }).values()].map(providers)).toEqual([0, 0, 0])
    for (const wrong of [undefined, 'shop', 'shop/*', 'shop/tenantry:ref:x'])
      expect(() => made({ repository: wrong })).toThrow(/repository=OWNER\/NAME/)
  })
})

describe('the example of a workflow', () => {
  const workflow = readFileSync('infra/github-workflow.yml', 'utf8')

  it('deploys one assembly to each stage in turn, in the environment that its role trusts', () => {
    const jobs = [
      ...workflow.matchAll(/^ {2}(\w+):\n {4}needs: (\w+)\n {4}environment: (\w+)\n {4}env: \{ STAGE: (\w+) \}/gm),
    ]
    expect(jobs.map(([, ...words]) => words)).toEqual([
      ['dev', 'build', 'dev', 'dev'],
      ['staging', 'dev', 'staging', 'staging'],
      ['prod', 'staging', 'prod', 'prod'],
    ])
    expect(workflow.match(/steps: \*deploy/g)).toHaveLength(2)
    expect(workflow.match(/cdk synth/g)).toHaveLength(1)
    expect(workflow).toContain(`environment: ${watchEnvironment('${{ matrix.stage }}')}`)
  })

  it('examines the change set before it executes it, and stops if that fails', () => {
    const [prepare, examine, execute] = [
      '--method prepare-change-set',
      'infra/tools/change-set.ts',
      '--method execute-change-set',
    ].map((part) => workflow.indexOf(part))
    expect([prepare, examine, execute].every((at) => at !== undefined && at > 0)).toBe(true)
    expect([prepare, examine, execute].toSorted((a = 0, b = 0) => a - b)).toEqual([prepare, examine, execute])
    // Only with this shell does a pipe fail with its first command.
    expect(workflow).toContain('run: { shell: bash }')
  })
})
