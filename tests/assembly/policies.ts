import { type AwsCall, AwsError, AWS_REGION, type Authorize } from '#infra/local/aws/aws-endpoints.ts'
import { secretArn } from '#infra/local/aws/secrets-manager.ts'
import { type Assembly, declaredFunctions, ofType, type Resolve, Undeployable } from './template.ts'

interface Statement {
  readonly allows: boolean
  readonly actions: readonly RegExp[]
  readonly resources: readonly RegExp[]
  /** The principals of a resource policy: ARNs, names of services, or `*`. Empty in a role's policy. */
  readonly principals: readonly string[]
  readonly condition: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>
}

/** The access key id of the tests themselves, which policies do not restrict. */
export const TEST_CALLER = 'test'

const listed = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as T]

const wildcard = (text: string): RegExp =>
  new RegExp(
    `^${text
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    'i',
  )

/** IAM's condition operators. `actual` is undefined if the call does not have the key. */
const OPERATORS: Readonly<Record<string, (actual: string | undefined, expected: string) => boolean>> = {
  StringEquals: (actual, expected) => actual === expected,
  StringLike: (actual, expected) => actual !== undefined && wildcard(expected).test(actual),
  ArnEquals: (actual, expected) => actual !== undefined && wildcard(expected).test(actual),
  ArnLike: (actual, expected) => actual !== undefined && wildcard(expected).test(actual),
  Bool: (actual, expected) => actual === expected,
  Null: (actual, expected) => (actual === undefined) === (expected === 'true'),
}

function holds({ condition }: Statement, context: AwsCall['context']): boolean {
  // IAM ignores the case of a condition key.
  const valueOf = (key: string) =>
    Object.entries(context).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1]
  return Object.entries(condition).every(([operator, keys]) => {
    const test = OPERATORS[operator]
    if (test === undefined) throw new Undeployable(`the condition operator ${operator} is not supported here`)
    return Object.entries(keys).every(([key, values]) => values.some((value) => test(valueOf(key), value)))
  })
}

const fits = (statement: Statement, { action, resource, context }: AwsCall): boolean =>
  statement.actions.some((pattern) => pattern.test(action)) &&
  statement.resources.some((pattern) => pattern.test(resource)) &&
  holds(statement, context)

const allowedBy = (statements: readonly Statement[], call: AwsCall): boolean => {
  const fitting = statements.filter((statement) => fits(statement, call))
  return fitting.length > 0 && fitting.every(({ allows }) => allows)
}

function parse(statement: any, resolve: Resolve, where: string): Statement {
  const text = (value: unknown) => resolve(value, where)
  return {
    allows: statement.Effect === 'Allow',
    actions: listed(statement.Action).map((action) => wildcard(text(action))),
    resources: listed(statement.Resource).map((resource) => wildcard(text(resource))),
    principals:
      statement.Principal === '*'
        ? ['*']
        : [statement.Principal?.AWS, statement.Principal?.Service].flatMap((each) => listed(each).map(text)),
    condition: Object.fromEntries(
      Object.entries<Record<string, unknown>>(statement.Condition ?? {}).map(([operator, keys]) => [
        operator,
        Object.fromEntries(Object.entries(keys).map(([key, values]) => [key, listed(values).map(text)])),
      ]),
    ),
  }
}

/** The policies of a template. */
export interface Policies {
  /** Returns whether a service may assume a role. */
  assumes(service: string, role: string): boolean
  /** Returns whether a role may make a call, by its own policies and by that of the resource. */
  roleMay(role: string, call: AwsCall): boolean
  /** Returns whether a service may make a call in its own name, by the policy of the resource. */
  serviceMay(service: string, call: AwsCall): boolean
}

/** Reads the policies of the roles that make calls, and of all keys, queues and topics. */
export function policiesOf(assembly: Assembly, resolve: Resolve): Policies {
  const ofRoles = new Map<string, Statement[]>()
  const ofResources = new Map<string, Statement[]>()
  const add = (arn: string, document: any, where: string) => {
    const statements = listed(document.Statement).map((statement) => parse(statement, resolve, where))
    ofResources.set(arn, [...(ofResources.get(arn) ?? []), ...statements])
  }
  for (const [id, { KeyPolicy }] of ofType(assembly, 'AWS::KMS::Key'))
    add(resolve({ 'Fn::GetAtt': [id, 'Arn'] }, id), KeyPolicy, id)
  for (const [id, { Queues, PolicyDocument }] of ofType(assembly, 'AWS::SQS::QueuePolicy'))
    for (const { Ref } of Queues) add(resolve({ 'Fn::GetAtt': [Ref, 'Arn'] }, id), PolicyDocument, id)
  for (const [id, { Topics, PolicyDocument }] of ofType(assembly, 'AWS::SNS::TopicPolicy'))
    for (const topic of Topics) add(resolve(topic, id), PolicyDocument, id)

  const naming = (resource: string, principal: string): Statement[] =>
    (ofResources.get(resource) ?? []).filter(({ principals }) =>
      principals.some((each) => [principal, '*'].includes(each)),
    )

  return {
    assumes: (service, role) =>
      listed<any>(assembly.resources[role]?.Properties.AssumeRolePolicyDocument.Statement)
        .map((statement) => parse(statement, resolve, role))
        .some(({ allows, principals }) => allows && principals.includes(service)),
    serviceMay: (service, call) => allowedBy(naming(call.resource, service), call),
    roleMay: (role, call) => {
      const arn = resolve({ 'Fn::GetAtt': [role, 'Arn'] }, role)
      const ofRole = ofRoles.get(role) ?? statementsOf(assembly, role, resolve)
      ofRoles.set(role, ofRole)
      const ofResource = naming(call.resource, arn)
      if ([...ofRole, ...ofResource].some((each) => !each.allows && fits(each, call))) return false
      if (!call.action.startsWith('kms:')) return allowedBy([...ofRole, ...ofResource], call)
      // The policy of a key decides whether the policies of the account count.
      const byAccount = allowedBy(naming(call.resource, arn.replace(/:role\/.*$/, ':root')), call)
      const byRole = allowedBy(ofRole, call)
      const byKey = allowedBy(ofResource, call)
      // Stricter than AWS, as the design: a key that a function uses directly needs both policies.
      return call.context['kms:ViaService'] === undefined
        ? byRole && (byKey || byAccount)
        : byKey || (byRole && byAccount)
    },
  }
}

/**
 * Returns an `Authorize` that applies the template's policies to functions, whose access key id is their name: the policies of
 * the role, for a KMS key also the key policy, and for a secret also the use of its key. Stricter than AWS for a key that a
 * function uses directly: AWS requires one of the two policies, the design both. Passes each denied call to `refused`.
 */
export function authorizing(assembly: Assembly, resolve: Resolve, refused: (call: string) => void): Authorize {
  const functions = declaredFunctions(assembly)
  const policies = policiesOf(assembly, resolve)
  const secrets = new Map(
    ofType(assembly, 'AWS::SecretsManager::Secret').map(([id, { KmsKeyId }]) => [secretArn(id), KmsKeyId]),
  )
  const identities = new Map(
    ofType(assembly, 'AWS::SES::EmailIdentity').map(([, properties]) => [properties.EmailIdentity, properties]),
  )

  /** Returns every call that AWS authorizes for one call. */
  const implied = (call: AwsCall): readonly AwsCall[] => {
    if (call.action === 'secretsmanager:GetSecretValue') {
      const key = secrets.get(call.resource)
      if (key === undefined) return [call]
      const context = {
        'kms:ViaService': `secretsmanager.${AWS_REGION}.amazonaws.com`,
        'kms:EncryptionContext:SecretARN': call.resource,
      }
      return [call, { ...call, action: 'kms:Decrypt', resource: resolve(key, call.resource), context }]
    }
    if (call.action === 'ses:SendEmail') {
      // https://docs.aws.amazon.com/ses/latest/dg/managing-configuration-sets.html: SES uses the identity's default set.
      const set = identities.get(call.resource.split('/')[1])?.ConfigurationSetAttributes?.ConfigurationSetName
      const resource = call.resource.replace(/:identity\/.*$/, `:configuration-set/${set && resolve(set, 'SES')}`)
      return set === undefined ? [call] : [call, { ...call, resource }]
    }
    return [call]
  }

  return (call) => {
    if (call.principal === TEST_CALLER) return
    // The CDK's own functions have no name, and their id instead.
    const role =
      functions.get(call.principal)?.role ?? assembly.resources[call.principal]?.Properties.Role?.['Fn::GetAtt'][0]
    if (role === undefined) {
      throw new AwsError('UnrecognizedClientException', 'The security token included in the request is invalid.')
    }
    for (const each of implied(call)) {
      if (policies.roleMay(role, each)) continue
      const message = `${each.principal} is not authorized to perform ${each.action} on ${each.resource}`
      refused(message)
      throw new AwsError('AccessDeniedException', message)
    }
  }
}

// The managed policy that lets a function write its log, and nothing else.
const OWN_LOG = /:policy\/service-role\/AWSLambdaBasicExecutionRole$/

function statementsOf(assembly: Assembly, role: string, resolve: Resolve): Statement[] {
  const { ManagedPolicyArns = [], Policies = [] } = assembly.resources[role]?.Properties ?? {}
  if (ManagedPolicyArns.some((arn: unknown) => !OWN_LOG.test(resolve(arn, role))))
    throw new Undeployable(`${role} has managed policies, which are not supported here`)
  const attached = ofType(assembly, 'AWS::IAM::Policy')
    .map(([, properties]) => properties)
    .filter(({ Roles }) => Roles.some((each: any) => each.Ref === role))
  return [...Policies, ...attached].flatMap(({ PolicyDocument }) =>
    listed(PolicyDocument.Statement).map((statement) => parse(statement, resolve, role)),
  )
}
