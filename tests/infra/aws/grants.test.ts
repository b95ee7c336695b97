import { describe, expect, it } from 'vitest'
import { databaseRole, type Need, SERVICE_ROLES } from '#shared/base/needs.ts'
import { listed } from './synthesized.ts'
import { ANOTHER_KEY, declared, functionsOf, other, prod, site } from './two-stages.ts'

/** What its role's policies allow each function, as `action resource`. Throws for a managed or an inline policy. */
function grants(): Map<string, string[]> {
  const policies = prod.ofType('AWS::IAM::Policy')
  return new Map(
    [...functionsOf(prod, 'prod')].map(([name, { Properties }]) => {
      const role = prod.referred(Properties.Role)
      if ('ManagedPolicyArns' in role.Properties || 'Policies' in role.Properties) throw new Error(`${name} has more`)
      const statements = policies
        .filter((policy) => policy.Properties.Roles.some((each: unknown) => prod.referred(each) === role))
        .flatMap((policy) => policy.Properties.PolicyDocument.Statement)
      const allowed = statements
        .filter(({ Effect }) => Effect === 'Allow')
        .flatMap(({ Action, Resource }) =>
          listed(Action).flatMap((action) => listed(Resource).map((each) => `${action} ${prod.named(each)}`)),
        )
      return [name, allowed.toSorted()]
    }),
  )
}

const NETWORK_INTERFACES = [
  'ec2:AssignPrivateIpAddresses *',
  'ec2:CreateNetworkInterface *',
  'ec2:DeleteNetworkInterface *',
  'ec2:DescribeNetworkInterfaces *',
  'ec2:DescribeSubnets *',
  'ec2:UnassignPrivateIpAddresses *',
]
const read = (secret: string) => [`secretsmanager:DescribeSecret ${secret}`, `secretsmanager:GetSecretValue ${secret}`]
const readLogin = (role: string) => read(`DatabaseRole${role}Attachment`)

/** The grants that a need implies and that any function may have. */
const HARMLESS: Readonly<Partial<Record<Need, readonly string[]>>> = {
  'database:app': readLogin('app'),
  'database:worker': readLogin('worker'),
  pepper: read('SecretsPepper'),
  cache: read('SecretsCache'),
  'invoke:publish-events': ['lambda:InvokeFunction arn::lambda:::function:tenantry-prod-publish-events:live'],
}

const OF_VAULT = {
  'vendor-accounts': 'encrypts the vendor secrets that tenants enter, and checks them with the vendor',
  'verify-vendors': 'decrypts vendor secrets to check them with the vendor',
  'sync-catalog': 'decrypts vendor secrets to read the catalog and prices of the tenant',
  operate: 'rotates, rewraps and destroys data keys',
}

/** All other grants. Only these functions may have them; each for its reason. */
const DANGEROUS: readonly { grants: readonly string[]; mayHave: Readonly<Record<string, string>> }[] = [
  {
    grants: readLogin('mailer'),
    mayHave: { 'deliver-mail': 'gets the recipients of the mails that it leases' },
  },
  {
    grants: readLogin('auth'),
    mayHave: { auth: 'signs users in, and sets their passwords' },
  },
  {
    grants: readLogin('services'),
    mayHave: { services: 'decides for other services, and shows them the events' },
  },
  {
    grants: [...readLogin('vault'), 'kms:GenerateDataKey KeysVault'],
    mayHave: OF_VAULT,
  },
  {
    grants: ['kms:Decrypt KeysVault'],
    mayHave: { ...OF_VAULT, 'open-credential': 'decrypts vendor secrets for other services' },
  },
  {
    grants: readLogin('opener'),
    mayHave: { 'open-credential': 'audits each opening, and gets the ciphertext for its entry' },
  },
  {
    grants: ['kms:ReEncryptFrom KeysVault', 'kms:ReEncryptTo KeysVault'],
    mayHave: { operate: 'rewraps data keys under another KMS key' },
  },
  {
    grants: [
      'ses:GetAccount *',
      'ses:SendEmail arn::ses:::configuration-set/MailConfigurationSet',
      'ses:SendEmail arn::ses:::identity/*',
    ],
    mayHave: { 'deliver-mail': 'sends every mail, at the rate of the account' },
  },
  {
    grants: [...readLogin('publisher'), 'events:PutEvents EventsBus'],
    mayHave: { 'publish-events': 'puts events on the bus, and reaches no table' },
  },
  {
    grants: ['ses:DeleteSuppressedDestination *'],
    mayHave: { operate: 'lets an address get mail again' },
  },
  {
    grants: [
      ...['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'GetQueueUrl', 'ReceiveMessage'].map(
        (action) => `sqs:${action} Jobsrecord-bouncesQueue`.replace('-', ''),
      ),
      'kms:Decrypt KeysService',
    ],
    mayHave: { 'record-bounces': 'receives the events of SES' },
  },
  {
    grants: ['lambda:InvokeFunction arn::lambda:::function:tenantry-prod-deliver-mail:live'],
    mayHave: {
      'api-keys': 'has mails of a new key sent right after the commit',
      auth: 'has links mailed right after the commit',
      members: 'has invitations mailed right after the commit',
      operate: "has an owner's invitation mailed right after the commit",
      tenant: 'has members mailed who are asked for a second factor right after the commit',
    },
  },
  {
    grants: ['lambda:InvokeFunction arn::lambda:::function:tenantry-prod-sync-catalog:live'],
    mayHave: {
      catalog: 'has a sync run started right after the commit',
      'sync-catalog': 'continues a sync run in another invocation',
    },
  },
  {
    grants: read('SecretsMailKey'),
    mayHave: {
      'deliver-mail': 'derives the link of each mail',
      members: 'stores the token of an invitation',
      operate: "stores the token of an owner's invitation",
    },
  },
  {
    grants: read('SecretsFactorKey'),
    mayHave: {
      auth: 'opens second factors, and proves them to the database',
      operate: 'seals second factors with the next key',
    },
  },
  {
    grants: [
      ...read('SecretsWebKey'),
      ...site.calls.map((group) => `lambda:InvokeFunction arn::lambda:::function:tenantry-prod-${group}:live`),
    ],
    mayHave: { web: 'protects its forms, and calls the route groups whose routes its pages name' },
  },
  {
    grants: read('SecretsProbe'),
    mayHave: { 'probe-sign-in': 'signs in as a user of a tenant without data' },
  },
  {
    grants: ['ClusterSecret', ...SERVICE_ROLES.map((role) => `Role${role}`)].flatMap((secret) =>
      ['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'].map(
        (action) => `secretsmanager:${action} Database${secret}Attachment`,
      ),
    ),
    mayHave: { 'rotate-password': 'replaces the password of each login, signed in as that login' },
  },
  {
    grants: readLogin('operator'),
    mayHave: { operate: 'opens, suspends and closes tenants, and disables users' },
  },
  {
    grants: read('DatabaseClusterSecretAttachment'),
    mayHave: { migrate: 'logs in as the owner of the schema' },
  },
  {
    grants: SERVICE_ROLES.flatMap(readLogin),
    mayHave: { migrate: "sets each login role's password to that of its secret" },
  },
]

/** Everything that a function may do, besides writing its own logs. */
const expectedGrants = (name: string): string[] => {
  const { needs = [], scheduled = false } = declared.get(name) ?? {}
  return [
    ...(databaseRole(needs) !== null || needs.includes('password-rotation') ? NETWORK_INTERFACES : []),
    ...needs.flatMap((need) => HARMLESS[need] ?? []),
    ...(scheduled ? ['sqs:SendMessage JobsFailed', 'kms:Decrypt KeysService', 'kms:GenerateDataKey KeysService'] : []),
    ...DANGEROUS.flatMap(({ grants, mayHave }) => (name in mayHave ? grants : [])),
  ]
}

describe('a function', () => {
  it('is granted what its needs imply, and a dangerous grant only where it is listed with a reason', () => {
    for (const [name, allowed] of grants()) {
      const log = prod.named(functionsOf(prod, 'prod').get(name)?.Properties.LoggingConfig.LogGroup)
      const expected = [...expectedGrants(name), `logs:CreateLogStream ${log}`, `logs:PutLogEvents ${log}`]
      expect(allowed, name).toEqual(expected.toSorted())
    }
    for (const { mayHave } of DANGEROUS)
      for (const name of Object.keys(mayHave)) expect(declared.has(name), name).toBe(true)
  })

  it('is denied the network interface actions that Lambda uses its role for', () => {
    const denied = prod
      .ofType('AWS::IAM::Policy')
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Effect }) => Effect === 'Deny')
    const named = denied.flatMap(({ Condition }): string[] =>
      Condition.ArnEquals['lambda:SourceFunctionArn'].map((each: unknown) => prod.named(each)),
    )
    expect(named.toSorted()).toEqual(
      [...functionsOf(prod, 'prod')]
        .filter(([, { Properties }]) => Properties.VpcConfig !== undefined)
        .flatMap(([name]) => ['', ':*'].map((version) => `arn::lambda:::function:tenantry-prod-${name}${version}`))
        .toSorted(),
    )
  })
})

describe('the vault key', () => {
  const statements = () => prod.one('AWS::KMS::Key', 'KeysVault').Properties.KeyPolicy.Statement

  it('is usable only by the functions that need the vault, by the key’s policy and by their own', () => {
    const using = [...grants()].filter(([, allowed]) => allowed.some((grant) => grant.endsWith(' KeysVault')))
    const roles = new Map([...functionsOf(prod, 'prod')].map(([name, f]) => [prod.referred(f.Properties.Role), name]))
    const users = statements()
      .filter(({ Action }: any) => listed(Action).some((action) => /Decrypt|Encrypt|DataKey/.test(String(action))))
      .flatMap(({ Principal }: any) => listed(Principal.AWS).map((each) => roles.get(prod.referred(each))))
    expect(users.toSorted()).toEqual(using.map(([name]) => name).toSorted())
  })

  it('is administered by the account, which may not use it', () => {
    const root = statements().find(({ Principal }: any) => JSON.stringify(Principal).includes(':root'))
    expect(listed(root.Action)).toContain('kms:PutKeyPolicy')
    for (const action of listed(root.Action))
      expect(action).not.toMatch(/^kms:(\*|.*(Decrypt|Encrypt|DataKey|CreateGrant))/)
  })

  it('is granted only by an AWS service for a resource that it encrypts, as every key of the stage is', () => {
    for (const { Properties } of prod.ofType('AWS::KMS::Key'))
      expect(Properties.KeyPolicy.Statement).toContainEqual({
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 'kms:CreateGrant',
        Resource: '*',
        Condition: { BoolIfExists: { 'kms:GrantIsForAWSResource': 'false', 'aws:PrincipalIsAWSService': 'false' } },
      })
  })

  it('is usable only with tenant, purpose and service in the encryption context, by both policies', () => {
    const role = other.referred(functionsOf(other, 'dev').get('operate')?.Properties.Role)
    const uses = (statement: any) => listed(statement.Action).includes('kms:GenerateDataKey')
    const ofKey = other.one('AWS::KMS::Key', 'KeysVault').Properties.KeyPolicy.Statement.filter(uses)
    const ofRole = other
      .ofType('AWS::IAM::Policy')
      .filter(({ Properties }) => Properties.Roles.some((each: unknown) => other.referred(each) === role))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(uses)
    expect(ofRole.map(({ Resource }: any) => listed(Resource).map((each) => other.named(each)))).toEqual([
      [ANOTHER_KEY, 'KeysVault'],
    ])
    const { Variables } = functionsOf(other, 'dev').get('vendor-accounts')?.Properties.Environment ?? {}
    expect(Variables.VAULT_KEY_ID).toBe(ANOTHER_KEY)
    expect(listed(ofKey[0].Principal.AWS).map((each: unknown) => other.referred(each))).toContain(role)
    for (const statements of [ofKey, ofRole]) {
      expect(statements).not.toEqual([])
      for (const { Condition } of statements)
        expect(Condition).toEqual({
          Null: {
            'kms:EncryptionContext:tenant_id': 'false',
            'kms:EncryptionContext:purpose': 'false',
            'kms:EncryptionContext:service': 'false',
          },
          StringEquals: { 'kms:EncryptionContext:service': 'tenantry' },
        })
    }
  })
})
