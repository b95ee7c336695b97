import { readFileSync } from 'node:fs'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { describe, expect, it } from 'vitest'
import { addSecondRegion } from '#infra/second-region.ts'
import { misfits, statementsOf } from './authorization.ts'
import { listed } from './synthesized.ts'

const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))
const account = '111122223333'
const key = (region: string, of = account, id = `mrk-${'0'.repeat(32)}`) => `arn:aws:kms:${region}:${of}:key/${id}`
const recovery = {
  region: 'us-west-2',
  backupVaults: [`arn:aws:backup:us-west-2:${account}:backup-vault:tenantry-prod`],
}

function made(vaultKey: string | undefined, entries: object = { account, region: 'us-east-1', recovery }) {
  const tenantry = { ...context.tenantry, prod: { ...context.tenantry.prod, ...entries } }
  const stack = addSecondRegion(new App({ context: { ...context, tenantry, stage: 'prod', vaultKey } }))
  const resources = new Map<string, any>(Object.entries(Template.fromStack(stack).toJSON()['Resources']))
  return { stack, resources, of: (type: string) => [...resources.values()].filter(({ Type }) => Type === type) }
}

describe('the stack for another Region', () => {
  const { stack, resources, of } = made(key('us-east-1'))

  it('is bound to the account of the stage and to the Region of recovery, and has the vault that cdk.json names', () => {
    expect([stack.account, stack.region, stack.stackName]).toEqual([
      account,
      'us-west-2',
      'tenantry-prod-second-region',
    ])
    const [vault] = of('AWS::Backup::BackupVault')
    expect(recovery.backupVaults[0]).toMatch(new RegExp(`:${vault.Properties.BackupVaultName}$`))
  })

  it('lets nobody use the replica of the vault key, and gives it the administration and the refusal of grants of the key itself', () => {
    const [replica] = of('AWS::KMS::ReplicaKey')
    const { Statement } = replica.Properties.KeyPolicy
    const allowed = Statement.filter(({ Effect }: any) => Effect === 'Allow').flatMap(({ Action }: any) =>
      listed(Action),
    )
    expect(allowed).toContain('kms:PutKeyPolicy')
    expect(allowed.filter((action: string) => /Decrypt|Encrypt|Generate|Grant|\*$/.test(action))).toEqual([
      'kms:Describe*',
      'kms:EnableKey*',
      'kms:Get*',
      'kms:List*',
    ])
    expect(Statement.map(({ Effect, Action }: any) => [Effect, Action])).toContainEqual(['Deny', 'kms:CreateGrant'])
  })

  it('keeps its keys and the copies when the stack is deleted, and has only policies that AWS applies', async () => {
    for (const type of ['AWS::KMS::ReplicaKey', 'AWS::KMS::Key', 'AWS::Backup::BackupVault'])
      expect(
        of(type).map(({ DeletionPolicy }) => DeletionPolicy),
        type,
      ).toEqual(['RetainExceptOnCreate'])
    const faults = await Promise.all(statementsOf({ resources }).map((each) => misfits({ resources }, each)))
    expect(faults.flat()).toEqual([])
  })

  it.each([
    ['no key', undefined, /vaultKey is missing/],
    ['a key of one Region', key('us-east-1', account, '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'), /no multi-Region key/],
    ['a key of another account', key('us-east-1', '444455556666'), /no multi-Region key/],
    ['a key of the same Region', key('us-west-2'), /no multi-Region key/],
  ])('refuses %s', (_what, vaultKey, message) => {
    expect(() => made(vaultKey)).toThrow(message)
  })

  it('refuses a stage without recovery or without an account', () => {
    expect(() => made(key('us-east-1'), { account })).toThrow(/no recovery/)
    expect(() => made(key('us-east-1'), { recovery })).toThrow(/no account/)
  })
})
