import { Addresses } from '#infra/aws/addresses.ts'
import * as v from 'valibot'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { addressFaults } from '#infra/aws/addresses.ts'
import {
  GATEWAY_RESPONSES,
  type GatewayFailure,
  gatewayResponse,
  INTEGRATION_TIMEOUT_MS,
  pageResponse,
} from '#infra/gateway.ts'
import { frontEnd, jobs, pagePaths, routeGroups } from '#infra/route-groups.ts'
import { reservedConcurrency, type Stage, STAGES, VENDOR_URLS } from '#infra/stages.ts'
import { type Need, SERVICE_ROLES } from '#shared/needs.ts'
import { undeliverable } from '#tests/assembly/deliveries.ts'
import { type Assembly, resolver } from '#tests/assembly/template.ts'
import { listed, type Synthesized, synthesized } from './synthesized.ts'

const groups = await routeGroups()
const deployedJobs = await jobs()
const site = await frontEnd()

/** What every function declares that its template is derived from. */
const declared = new Map<string, { needs: readonly Need[]; scheduled: boolean; kind: 'group' | 'job' }>([
  ...groups.map(({ group: { name, needs } }) => [name, { needs, scheduled: false, kind: 'group' }] as const),
  [site.name, { needs: site.needs, scheduled: false, kind: 'group' }] as const,
  ...deployedJobs.map(
    ({ job: { name, needs, everySeconds } }) =>
      [name, { needs, scheduled: everySeconds !== undefined, kind: 'job' }] as const,
  ),
])

let prod: Synthesized
const OWN_DOMAIN = { name: 'api.shop.test', certificateArn: 'arn:aws:acm:us-east-1:1:certificate/one' }
const WEB_DOMAIN = { ...OWN_DOMAIN, name: 'app.shop.test' }
const ANOTHER_KEY = 'arn:aws:kms:us-east-1:123456789012:key/another'
// A stage with keep: false, a proxy, its own domain and another vault key.
const COPY_VAULT = 'arn:aws:backup:us-west-2:210987654321:backup-vault:tenantry'
const SNAPSHOT = 'arn:aws:rds:us-east-1:123456789012:cluster-snapshot:last'
let other: Synthesized
beforeAll(async () => {
  prod = await synthesized('prod')
  other = await synthesized('dev', {
    database: { proxy: true },
    addresses: {
      apiDomain: OWN_DOMAIN,
      webDomain: WEB_DOMAIN,
      vaultKeys: [ANOTHER_KEY],
      trustedProxies: ['203.0.113.0/24'],
      zones: ['us-east-1b', 'us-east-1d'],
      recovery: { region: 'us-west-2', backupVaults: [COPY_VAULT] },
      restoreFrom: SNAPSHOT,
    },
  })
})

/** Our functions by name without the stage. Leaves out those that the CDK adds. */
const functionsOf = (stage: Synthesized, name: string) =>
  new Map(
    stage
      .ofType('AWS::Lambda::Function')
      .filter(({ Properties }) => Properties.FunctionName !== undefined)
      .map((each) => [String(each.Properties.FunctionName).replace(`tenantry-${name}-`, ''), each]),
  )

/** The function of an alias. */
const aliased = (stage: Synthesized, alias: unknown) => stage.referred(stage.referred(alias).Properties.FunctionName)

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
const TRACES = ['xray:PutTelemetryRecords *', 'xray:PutTraceSegments *']
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
      auth: 'has links mailed right after the commit',
      members: 'has invitations mailed right after the commit',
      operate: "has an owner's invitation mailed right after the commit",
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
    ...NETWORK_INTERFACES,
    ...TRACES,
    ...needs.flatMap((need) => HARMLESS[need] ?? []),
    ...(scheduled ? ['sqs:SendMessage JobsFailed', 'kms:Decrypt KeysService', 'kms:GenerateDataKey KeysService'] : []),
    ...DANGEROUS.flatMap(({ grants, mayHave }) => (name in mayHave ? grants : [])),
  ]
}

it('decides every feature flag of the CDK, because a later change of one could replace live resources', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  const decided = Object.keys(read('cdk.json').context)
  const recommended = Object.keys(read('node_modules/aws-cdk-lib/recommended-feature-flags.json'))
  expect(recommended.filter((flag) => !decided.includes(flag))).toEqual([])
})

describe('a function', () => {
  it('is deployed under its name, with its own role and log group', () => {
    const made = functionsOf(prod, 'prod')
    expect([...made.keys()].toSorted()).toEqual([...declared.keys()].toSorted())
    const roles = new Set([...made.values()].map(({ Properties }) => prod.referred(Properties.Role)))
    const logGroups = new Set([...made.values()].map(({ Properties }) => prod.named(Properties.LoggingConfig.LogGroup)))
    expect([roles.size, logGroups.size]).toEqual([made.size, made.size])
    for (const [name, { Properties }] of made) {
      expect(Properties, name).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        TracingConfig: { Mode: 'Active' },
        ReservedConcurrentExecutions: expect.any(Number),
        VpcConfig: { SubnetIds: expect.any(Array), SecurityGroupIds: expect.any(Array) },
      })
    }
  })

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
      [...functionsOf(prod, 'prod').keys()]
        .flatMap((name) => ['', ':*'].map((version) => `arn::lambda:::function:tenantry-prod-${name}${version}`))
        .toSorted(),
    )
  })

  it('has settings for the secrets that its needs imply, and for no other', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      const settings = Object.keys(Properties.Environment.Variables).filter((key) => /_SECRET_IDS?$|^VAULT/.test(key))
      const expected = (declared.get(name)?.needs ?? []).flatMap((need) => {
        if (need.startsWith('database:')) return ['DATABASE_SECRET_ID']
        if (need === 'role-passwords') return ['ROLE_SECRET_IDS']
        if (need === 'pepper') return ['PEPPER_SECRET_ID']
        if (need === 'mail-key') return ['MAIL_KEY_SECRET_ID']
        if (need === 'web-key') return ['WEB_KEY_SECRET_ID']
        if (need === 'cache') return ['CACHE_SECRET_ID']
        if (need === 'probe-user') return ['PROBE_SECRET_ID']
        return need === 'vault' ? ['VAULT_KEY_ID', 'VAULT_DATABASE_SECRET_ID'] : []
      })
      expect(settings.toSorted(), name).toEqual(expected.toSorted())
    }
  })

  it('opens credentials for the named services alone, each by an alias of its own name that names its role', async () => {
    const catalog = 'arn:aws:iam::111111111111:role/catalog'
    const credentialCallers = { catalog, 'orders-2': 'arn:aws:iam::222222222222:role/team/orders' }
    const named = await synthesized('dev', { addresses: { credentialCallers } })
    const open = functionsOf(named, 'dev').get('open-credential')
    const aliasOf = (property: unknown) => named.referred(property).Properties
    const aliases = named
      .ofType('AWS::Lambda::Alias')
      .filter(({ Properties }) => named.referred(Properties.FunctionName) === open)
    expect(aliases.map(({ Properties }) => String(Properties.Name)).toSorted()).toEqual(['catalog', 'live', 'orders-2'])
    const permissions = named
      .ofType('AWS::Lambda::Permission')
      .filter(({ Properties }) => !String(Properties.Principal).endsWith('.amazonaws.com'))
      .map(({ Properties }) => [aliasOf(Properties.FunctionName).Name, Properties.Principal, Properties.Action])
    expect(permissions.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual(
      Object.entries(credentialCallers).map(([name, arn]) => [name, arn, 'lambda:InvokeFunction']),
    )
    for (const [service, role] of [
      ['live', catalog],
      ['$LATEST', catalog],
      ['7', catalog],
      ['catalog', '*'],
    ] as const)
      expect(v.is(Addresses.entries.credentialCallers, { [service]: role }), service).toBe(false)
  })

  it('checks new passwords for known breaches in prod', () => {
    const { PWNED_PASSWORDS_URL } = functionsOf(prod, 'prod').get('auth')?.Properties.Environment.Variables ?? {}
    expect(PWNED_PASSWORDS_URL).toBe('https://api.pwnedpasswords.com')
  })

  it('writes the idle expiry of a session at most once a minute in staging and prod', () => {
    expect([STAGES.staging.slideStepSeconds, STAGES.prod.slideStepSeconds]).toEqual([60, 60])
    const { SESSION_SLIDE_STEP_SECONDS } =
      functionsOf(prod, 'prod').get('members')?.Properties.Environment.Variables ?? {}
    expect(SESSION_SLIDE_STEP_SECONDS).toBe('60')
  })

  it('verifies the database’s certificate whenever it connects', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      const { DATABASE_SECRET_ID, DATABASE_TLS } = Properties.Environment.Variables
      expect(DATABASE_TLS, name).toBe(DATABASE_SECRET_ID === undefined ? undefined : 'verify-full')
    }
  })

  it('deploys after the migrations, which run whenever one of them changes', () => {
    const [trigger, second] = [...prod.resources].filter(([, { Type }]) => Type === 'Custom::Trigger')
    expect(second).toBeUndefined()
    const migrate = functionsOf(prod, 'prod').get('migrate')
    for (const [name, { DependsOn }] of functionsOf(prod, 'prod'))
      expect(DependsOn?.includes(trigger?.[0] ?? ''), name).toBe(name !== 'migrate')
    const version = prod.referred(trigger?.[1].Properties.HandlerArn)
    expect(prod.referred(version.Properties.FunctionName)).toBe(migrate)
    const { Timeout } = migrate?.Properties ?? {}
    const { ServiceTimeout } = trigger?.[1].Properties ?? {}
    // Each waits for the one before it: the migrations, their function, the provider of the trigger, CloudFormation.
    expect([Timeout, ServiceTimeout]).toEqual([780, 960])
    expect(prod.referred(trigger?.[1].Properties.ServiceToken).Properties.Timeout).toBe(900)
    expect(trigger?.[1].Properties).toMatchObject({ ExecuteOnHandlerChange: true, InvocationType: 'RequestResponse' })
    expect(migrate?.DependsOn?.some((id) => id.startsWith('DatabaseClusterWriter'))).toBe(true)
    expect(migrate?.DependsOn?.some((id) => id.startsWith('JobsmigrateRoleDefaultPolicy'))).toBe(true)
  })

  it('opens, together with all others, at most 80 % of the connections that the database accepts', () => {
    for (const config of Object.values<Stage>(STAGES)) {
      if (config.concurrency === null) continue
      const { database } = config
      // An instance opens one connection per login that it knows. The migrations use the roles' logins one after another.
      const most = [...functionsOf(prod, 'prod')].reduce((sum, [name, { Properties }]) => {
        const logins = Object.keys(Properties.Environment.Variables).filter((key) => key.endsWith('DATABASE_SECRET_ID'))
        const instances = reservedConcurrency(config, declared.get(name)?.kind ?? 'group', name) ?? 0
        return sum + logins.length * instances
      }, 0)
      expect(most).toBeGreaterThan(50)
      // Aurora's default for max_connections is one per 9531392 bytes of 2 GiB per unit, at most 5000, or at most 2000 when
      // the minimum is half a unit:
      // https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora-serverless-v2.setting-capacity.html
      const perMemory = Math.floor((database.maxCapacity * 2 * 1024 ** 3) / 9_531_392)
      expect(most).toBeLessThan(0.8 * Math.min(perMemory, database.minCapacity <= 0.5 ? 2000 : 5000))
    }
  })

  it('reserves, together with all others, at most 900 instances, and a job at most 4', () => {
    // Lambda keeps 100 of an account's default 1000 unreserved.
    const reserved = [...functionsOf(prod, 'prod')].map(([name, { Properties }]) => {
      const instances: number = Properties.ReservedConcurrentExecutions
      // Other services invoke authorize for each of their requests.
      if (declared.get(name)?.kind === 'job' && name !== 'authorize') expect(instances, name).toBeLessThanOrEqual(4)
      return instances
    })
    expect(reserved.reduce((sum, instances) => sum + instances, 0)).toBeLessThanOrEqual(900)
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

describe('stored data', () => {
  it('includes the logs of every function, also of those that the CDK adds', () => {
    for (const stage of [prod, other])
      for (const { Properties } of stage.ofType('AWS::Lambda::Function'))
        expect(stage.referred(Properties.LoggingConfig.LogGroup).Type).toBe('AWS::Logs::LogGroup')
    const rotations = prod.ofType('AWS::Serverless::Application')
    expect(rotations).toHaveLength(SERVICE_ROLES.length + 1)
    for (const { Properties, DependsOn } of rotations) {
      const first = DependsOn?.map((id) => prod.resources.get(id)?.Properties.LogGroupName)
      expect(first).toContain(`/aws/lambda/${Properties.Parameters.functionName}`)
    }
  })

  it('is encrypted with keys of the stage, which rotate', () => {
    for (const stage of [prod, other]) {
      for (const key of stage.ofType('AWS::KMS::Key')) expect(key.Properties.EnableKeyRotation).toBe(true)
      const by = (property: unknown) => stage.named(property)
      for (const { Properties } of stage.ofType('AWS::Logs::LogGroup'))
        expect([by(Properties.KmsKeyId), typeof Properties.RetentionInDays]).toEqual(['KeysService', 'number'])
      for (const { Properties } of stage.ofType('AWS::SecretsManager::Secret'))
        expect(by(Properties.KmsKeyId)).toBe('KeysService')
      for (const { Properties } of stage.ofType('AWS::SQS::Queue'))
        expect(by(Properties.KmsMasterKeyId)).toBe('KeysService')
      for (const { Properties } of stage.ofType('AWS::SNS::Topic'))
        expect(by(Properties.KmsMasterKeyId)).toBe('KeysService')
      const cluster = stage.one('AWS::RDS::DBCluster').Properties
      expect([cluster.StorageEncrypted, by(cluster.KmsKeyId)]).toEqual([true, 'KeysDatabase'])
      expect(stage.ofType('AWS::S3::Bucket')).toEqual([])
    }
  })

  /** What CloudFormation does with each resource that states it, by type and name, when it leaves the stack. */
  const policies = ({ resources }: Synthesized) =>
    new Set(
      [...resources].flatMap(([id, { Type, DeletionPolicy, UpdateReplacePolicy }]) => {
        const name =
          Type === 'AWS::SecretsManager::Secret'
            ? ` ${id.replace(/^tenantryprod|Secret[0-9A-F]{8}\w*$|[0-9A-F]{8}$/g, '')}`
            : ''
        return DeletionPolicy === undefined ? [] : [`${Type}${name}: ${DeletionPolicy}, ${UpdateReplacePolicy}`]
      }),
    )
  const REPLACEABLE = [
    'AWS::RDS::DBInstance: Delete, Delete',
    'AWS::SQS::Queue: Delete, Delete',
    'AWS::Scheduler::ScheduleGroup: Delete, Delete',
    ...['DatabaseCluster', ...SERVICE_ROLES.map((role) => `DatabaseRole${role}`)].map(
      (id) => `AWS::SecretsManager::Secret ${id}: Delete, Delete`,
    ),
    'AWS::Serverless::Application: Delete, Delete',
    'Custom::Trigger: Delete, Delete',
    'Custom::VpcRestrictDefaultSG: Delete, Delete',
    // They belong to the account, and other APIs in it may use them.
    'AWS::ApiGateway::Account: Retain, Retain',
    'AWS::IAM::Role: Retain, Retain',
  ]

  it('survives the deletion of the stack, and goes with a first deployment that fails, so that it can be repeated', () => {
    expect([...policies(prod)].toSorted()).toEqual(
      [
        ...REPLACEABLE,
        'AWS::RDS::DBCluster: Snapshot, Snapshot',
        'AWS::KMS::Key: RetainExceptOnCreate, Retain',
        'AWS::Logs::LogGroup: RetainExceptOnCreate, Retain',
        ...['SecretsCache', 'SecretsMailKey', 'SecretsPepper', 'SecretsProbe', 'SecretsWebKey'].map(
          (id) => `AWS::SecretsManager::Secret ${id}: RetainExceptOnCreate, Retain`,
        ),
      ].toSorted(),
    )
    expect(prod.one('AWS::RDS::DBCluster').Properties.BackupRetentionPeriod).toBe(35)
    expect([...policies(other)].filter((policy) => policy.includes('Retain')).toSorted()).toEqual(
      REPLACEABLE.filter((policy) => policy.includes('Retain')).toSorted(),
    )
  })

  it('is protected from deletion once the stage has launched, and not before', async () => {
    const launched = await synthesized('prod', { addresses: { launched: true } })
    const protectedBy = (stage: Synthesized) => [
      stage.terminationProtection,
      stage.one('AWS::RDS::DBCluster').Properties.DeletionProtection,
    ]
    expect([prod, launched, other].map(protectedBy)).toEqual([
      [false, false],
      [true, true],
      [false, false],
    ])
  })

  it('is protected by database passwords that rotate, each once its role exists', () => {
    const rotated = prod.ofType('AWS::SecretsManager::RotationSchedule')
    expect(rotated.map(({ Properties }) => prod.named(Properties.SecretId)).toSorted()).toEqual(
      ['DatabaseClusterSecretAttachment', ...SERVICE_ROLES.map((role) => `DatabaseRole${role}Attachment`)].toSorted(),
    )
    for (const { Properties } of rotated) expect(Properties.RotateImmediatelyOnUpdate).toBe(false)
    for (const { DependsOn } of prod.ofType('AWS::Serverless::Application'))
      expect(DependsOn?.some((id) => id.startsWith('JobsMigrated'))).toBe(true)
  })

  it('includes a generated pepper and a different mail key, and no template contains them', () => {
    for (const [id, field] of [
      ['SecretsPepper', 'pepper'],
      ['SecretsMailKey', 'mail_key'],
    ] as const)
      expect(prod.one('AWS::SecretsManager::Secret', id).Properties.GenerateSecretString).toMatchObject({
        SecretStringTemplate: '{}',
        GenerateStringKey: field,
        PasswordLength: 64,
      })
    for (const { Properties } of prod.ofType('AWS::SecretsManager::Secret'))
      expect(Properties.SecretString).toBeUndefined()
  })
})

describe('recovery', () => {
  it('copies each daily backup to the vaults of cdk.json, whose accounts may decrypt it', () => {
    const { BackupPlan } = other.one('AWS::Backup::BackupPlan').Properties
    expect(BackupPlan.BackupPlanRule[0].CopyActions).toMatchObject([{ DestinationBackupVaultArn: COPY_VAULT }])
    expect(other.one('AWS::Backup::BackupSelection').Properties.BackupSelection.Resources).toHaveLength(1)
    const policy = other.one('AWS::KMS::Key', 'KeysDatabase').Properties.KeyPolicy
    expect(JSON.stringify(policy)).toContain(':iam::210987654321:root')
    expect(prod.ofType('AWS::Backup::BackupPlan')).toEqual([])
  })

  it('has in another Region what the data needs: a replica of pepper and mail key, and a vault key that may get one', () => {
    for (const id of ['SecretsPepper', 'SecretsMailKey']) {
      const { ReplicaRegions } = other.one('AWS::SecretsManager::Secret', id).Properties
      expect(ReplicaRegions).toEqual([{ Region: 'us-west-2' }])
    }
    const multiRegion = [prod, other].map((stage) => stage.one('AWS::KMS::Key', 'KeysVault').Properties.MultiRegion)
    expect(multiRegion).toEqual([true, false])
  })

  it('begins with a snapshot that cdk.json names, under the owner’s new password', () => {
    const { SnapshotIdentifier, DatabaseName, MasterUserPassword } = other.one('AWS::RDS::DBCluster').Properties
    expect([SnapshotIdentifier, DatabaseName]).toEqual([SNAPSHOT, undefined])
    expect(MasterUserPassword).toBeDefined()
    expect(prod.one('AWS::RDS::DBCluster').Properties.SnapshotIdentifier).toBeUndefined()
  })
})

describe('the database', () => {
  it('restarts for maintenance only in its window, in prod days after staging, and never while it backs up', () => {
    const windows = Object.values(STAGES).map(({ database }) => database.maintenance)
    expect(windows.map((window) => window.slice(0, 3))).toEqual(['mon', 'tue', 'sun'])
    for (const [stage, { maintenance, minorUpgrades }] of [
      [prod, STAGES.prod.database],
      [other, STAGES.dev.database],
    ] as const) {
      const cluster = stage.one('AWS::RDS::DBCluster').Properties
      expect(cluster).toMatchObject({ PreferredMaintenanceWindow: maintenance, PreferredBackupWindow: '06:00-07:00' })
      expect(maintenance.slice(4, 9) > '07:00').toBe(true)
      for (const { Properties } of stage.ofType('AWS::RDS::DBInstance'))
        expect(Properties).toMatchObject({
          PreferredMaintenanceWindow: maintenance,
          AutoMinorVersionUpgrade: minorUpgrades,
        })
    }
    expect(STAGES.prod.database.minorUpgrades).toBe(false)
  })

  it('has Database Insights where its minimum capacity carries them', () => {
    for (const [stage, enabled] of [
      [prod, true],
      [other, undefined],
    ] as const) {
      const { DatabaseInsightsMode, PerformanceInsightsEnabled } = stage.one('AWS::RDS::DBCluster').Properties
      expect([DatabaseInsightsMode, PerformanceInsightsEnabled]).toEqual(['standard', enabled])
    }
  })

  it('keeps values of statements out of its logs and statistics', () => {
    expect(prod.one('AWS::RDS::DBClusterParameterGroup').Properties.Parameters).toMatchObject({
      log_statement: 'none',
      log_min_duration_statement: '-1',
      log_error_verbosity: 'terse',
      'pg_stat_statements.track_utility': '0',
    })
  })
})

describe('the network', () => {
  it('uses the zones of cdk.json where it names them', () => {
    const named = (stage: Synthesized) =>
      new Set(stage.ofType('AWS::EC2::Subnet').map(({ Properties }) => JSON.stringify(Properties.AvailabilityZone)))
    expect([...named(other)].toSorted()).toEqual(['"us-east-1b"', '"us-east-1d"'])
    expect([...named(prod)].every((zone) => zone.includes('Fn::GetAZs'))).toBe(true)
  })

  it('accepts no inbound connection from outside', () => {
    for (const stage of [prod, other]) {
      for (const { Properties } of stage.ofType('AWS::RDS::DBInstance'))
        expect(Properties.PubliclyAccessible).toBe(false)
      for (const { Properties } of stage.ofType('AWS::EC2::SecurityGroup'))
        expect(Properties.SecurityGroupIngress ?? []).toEqual([])
      for (const { Properties } of stage.ofType('AWS::EC2::SecurityGroupIngress'))
        expect(Properties.SourceSecurityGroupId, JSON.stringify(Properties)).toBeDefined()
      for (const { Properties } of stage.ofType('AWS::EC2::Subnet')) expect(Properties.MapPublicIpOnLaunch).toBe(false)
      expect(stage.ofType('AWS::Lambda::Url')).toEqual([])
    }
  })

  it('lets functions connect only to the database, to HTTPS, and with the vault to the ports of the vendors', () => {
    const vendorPorts = Object.values(VENDOR_URLS).map((url) => Number(new URL(url).port || 443))
    expect(vendorPorts).toContain(8080)
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      const rules = Properties.VpcConfig.SecurityGroupIds.flatMap(
        (id: unknown) => prod.referred(id).Properties.SecurityGroupEgress,
      )
      const ports = rules.map(({ IpProtocol, FromPort, ToPort }: any) => [IpProtocol, FromPort, ToPort])
      const expected = new Set([443, ...(declared.get(name)?.needs.includes('vault') ? vendorPorts : [])])
      expect(ports, name).toEqual([...expected].map((port) => ['tcp', port, port]))
    }
    const more = prod.ofType('AWS::EC2::SecurityGroupEgress')
    expect(more.map(({ Properties }) => prod.named(Properties.DestinationSecurityGroupId))).toEqual([
      'DatabaseSecurityGroup',
    ])
  })

  it('requires TLS for every connection to the database', () => {
    for (const stage of [prod, other]) {
      const parameters = stage.one('AWS::RDS::DBClusterParameterGroup').Properties.Parameters
      expect(parameters['rds.force_ssl']).toBe('1')
    }
    expect(other.one('AWS::RDS::DBProxy').Properties.RequireTLS).toBe(true)
  })

  it('connects every function except the migrations through the proxy, when the stage has one', () => {
    for (const [name, { Properties }] of functionsOf(other, 'dev')) {
      const { DATABASE_SECRET_ID, DATABASE_HOST, DATABASE_PREPARE } = Properties.Environment.Variables
      const proxied = DATABASE_SECRET_ID !== undefined && name !== 'migrate'
      expect([DATABASE_HOST !== undefined, DATABASE_PREPARE], name).toEqual([proxied, proxied ? 'false' : undefined])
    }
  })
})

describe('the API', () => {
  const definition = () => prod.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.Body

  it('routes each path to its group’s function by one ANY method, and every other path to not-found', () => {
    const { paths: made } = definition()
    const paths = groups.flatMap(({ group }) => group.endpoints.map(({ path }) => [path, group.name] as const))
    expect(Object.keys(made).toSorted()).toEqual(
      [...new Set([...paths.map(([path]) => path), '/', '/{proxy+}'])].toSorted(),
    )
    for (const [path, name] of [...paths, ['/', 'not-found'], ['/{proxy+}', 'not-found']] as const) {
      const integration = made[path]['x-amazon-apigateway-any-method']['x-amazon-apigateway-integration']
      expect(integration).toMatchObject({
        type: 'aws_proxy',
        httpMethod: 'POST',
        timeoutInMillis: INTEGRATION_TIMEOUT_MS,
      })
      const [, parts] = integration.uri['Fn::Join']
      const target = parts.find((part: any) => part.Ref?.startsWith('AWS::') === false)
      expect(aliased(prod, target)).toBe(functionsOf(prod, 'prod').get(name))
    }
  })

  it('times out before its functions do', () => {
    for (const { group } of groups)
      expect(functionsOf(prod, 'prod').get(group.name)?.Properties.Timeout * 1000).toBeGreaterThan(
        INTEGRATION_TIMEOUT_MS,
      )
  })

  it('shapes its own error responses like those of the functions, with a literal status', () => {
    const made = definition()['x-amazon-apigateway-gateway-responses']
    expect(new Set(Object.keys(made))).toEqual(new Set(Object.keys(GATEWAY_RESPONSES)))
    // An update of the definition deletes those that are resources of their own.
    expect(prod.ofType('AWS::ApiGateway::GatewayResponse')).toEqual([])
    for (const [failure, { status }] of Object.entries(GATEWAY_RESPONSES)) {
      const { statusCode, responseParameters, responseTemplates } = made[failure]
      expect(statusCode, failure).toBe(String(status))
      const body = JSON.parse(responseTemplates['application/json'])
      expect(body).toMatchObject({ status, instance: 'urn:uuid:$context.requestId', title: expect.any(String) })
      expect(body.type).toMatch(/^about:blank$|^https:\/\/tenantry\.example\/problems\/[a-z-]+$/)
      expect(responseParameters).toMatchObject({
        'gatewayresponse.header.content-type': "'application/problem+json'",
        'gatewayresponse.header.x-request-id': 'context.requestId',
        'gatewayresponse.header.cache-control': "'no-store'",
        'gatewayresponse.header.content-security-policy':
          "'default-src 'none'; base-uri 'none'; frame-ancestors 'none''",
        'gatewayresponse.header.referrer-policy': "'no-referrer'",
      })
      const { headers } = gatewayResponse(failure as keyof typeof GATEWAY_RESPONSES, {
        requestId: 'x',
        problemBaseUrl: '',
      })
      expect(Object.keys(responseParameters)).toEqual(
        Object.keys(headers).map((name) => `gatewayresponse.header.${name}`),
      )
    }
  })

  it('has room for 150 endpoints in one stack, with one permission for each function', async () => {
    const count = groups.flatMap(({ group }) => group.endpoints).length
    const members = groups.find(({ group }) => group.name === 'members')
    const [first] = members?.group.endpoints ?? []
    if (members === undefined || first === undefined) throw new Error('members has no endpoint')
    const endpoints = [...members.group.endpoints]
    for (let more = count; more < 150; more += 1) endpoints.push({ ...first, path: `/v1/members/{id}/further-${more}` })
    const enlarged = { ...members, group: { ...members.group, endpoints } }
    const large = await synthesized('prod', { groups: [...groups.filter((each) => each !== members), enlarged] })
    expect(Object.keys(large.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.Body.paths).length).toBeGreaterThan(
      130,
    )
    expect(large.ofType('AWS::Lambda::Permission')).toHaveLength(groups.length + 1)
    // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    expect(large.resources.size).toBeLessThanOrEqual(480)
    expect(JSON.stringify(Object.fromEntries(large.resources), null, 1).length).toBeLessThan(800_000)
  })

  it('is throttled, and keeps bodies, IP addresses, headers and queries out of logs and traces', () => {
    const { MethodSettings, AccessLogSetting, TracingEnabled } = prod.one(
      'AWS::ApiGateway::Stage',
      'ApiRest',
    ).Properties
    const setting = (HttpMethod: string, ResourcePath: string, { rate, burst }: { rate: number; burst: number }) => ({
      HttpMethod,
      // API Gateway's escape for a slash.
      ResourcePath: `/${ResourcePath.replaceAll('/', '~1')}`,
      LoggingLevel: 'ERROR',
      MetricsEnabled: false,
      DataTraceEnabled: false,
      ThrottlingRateLimit: rate,
      ThrottlingBurstLimit: burst,
    })
    const [all, ...single] = MethodSettings
    expect(all).toEqual(setting('*', '*', STAGES.prod.throttle))
    const signIn = [
      'invitations/accept',
      'invitations/inspect',
      'login',
      'password/forgot',
      'password/reset',
      'verify',
    ].map((path) => setting('POST', `/v1/auth/${path}`, STAGES.prod.throttle.signIn))
    const byPath = (a: any, b: any) => a.ResourcePath.localeCompare(b.ResourcePath)
    expect(single.toSorted(byPath)).toEqual(signIn.toSorted(byPath))
    for (const { throttle } of Object.values(STAGES)) expect(throttle.signIn.rate).toBeLessThan(throttle.rate)
    expect(TracingEnabled).toBe(false)
    const variables = [...AccessLogSetting.Format.matchAll(/\$context\.([\w.]+)/g)].map(([, name]) => name)
    expect(variables).toContain('requestId')
    for (const name of variables) expect(name).not.toMatch(/identity|authorizer|userAgent|querystring|^path$|message/i)
  })

  it('requires TLS 1.2 or later, and serves only its own domain when it has one', () => {
    for (const stage of [prod, other])
      expect(stage.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.SecurityPolicy).toMatch(
        /^SecurityPolicy_TLS13_1_[23]_/,
      )
    expect(other.one('AWS::ApiGateway::DomainName', 'ApiRest').Properties).toMatchObject({
      DomainName: 'api.shop.test',
      SecurityPolicy: expect.stringMatching(/^SecurityPolicy_TLS13_1_[23]_/),
      EndpointAccessMode: 'STRICT',
    })
    expect(other.one('AWS::ApiGateway::RestApi', 'ApiRest').Properties.DisableExecuteApiEndpoint).toBe(true)
  })

  it('closes its first address when a stage gets its own domain, which API Gateway does only at a new deployment', async () => {
    const before = await synthesized('dev')
    const [earlier, later] = [before, other].map(({ resources }) =>
      [...resources]
        .filter(([id, { Type }]) => Type === 'AWS::ApiGateway::Deployment' && id.startsWith('ApiRest'))
        .map(([id]) => id),
    )
    expect([earlier?.length, later?.length]).toEqual([1, 1])
    expect(later).not.toEqual(earlier)
  })

  it('is behind a firewall', () => {
    for (const [firewall, api] of [
      ['Firewall', 'ApiRest'],
      ['WebFirewall', 'WebApiRest'],
    ] as const) {
      const association = prod.one('AWS::WAFv2::WebACLAssociation', firewall).Properties
      expect(JSON.stringify(association.ResourceArn)).toContain(`"${api}DeploymentStage`)
      expect(prod.referred(association.WebACLArn).Type).toBe('AWS::WAFv2::WebACL')
    }
  })

  it('hands the trusted proxies to the functions and to the firewall', () => {
    const { TRUSTED_PROXIES } = functionsOf(other, 'dev').get('auth')?.Properties.Environment.Variables ?? {}
    expect(TRUSTED_PROXIES).toBe('203.0.113.0/24')
    const sets = other.ofType('AWS::WAFv2::IPSet').map(({ Properties }) => Properties)
    expect(sets.map(({ Addresses }) => Addresses)).toEqual([['203.0.113.0/24'], ['203.0.113.0/24']])
    expect(new Set(sets.map(({ Name }) => Name)).size).toBe(2)
  })
})

describe('the API of the front end', () => {
  const definition = () => prod.one('AWS::ApiGateway::RestApi', 'WebApiRest').Properties.Body

  it('routes the path of each page, and every other path, to the function of the front end', () => {
    const { paths: made } = definition()
    expect(Object.keys(made).toSorted()).toEqual(pagePaths(site.pages).toSorted())
    const uris = Object.values<any>(made).map(
      (methods) => methods['x-amazon-apigateway-any-method']['x-amazon-apigateway-integration'].uri,
    )
    expect(new Set(uris.map((uri) => JSON.stringify(uri))).size).toBe(1)
    const target = uris[0]['Fn::Join'][1].find((part: any) => part.Ref?.startsWith('AWS::') === false)
    expect(aliased(prod, target)).toBe(functionsOf(prod, 'prod').get('web'))
  })

  it('is small pages where it fails itself, whatever the client accepts', () => {
    const made = definition()['x-amazon-apigateway-gateway-responses']
    for (const failure of Object.keys(GATEWAY_RESPONSES) as GatewayFailure[]) {
      const { status, headers, body } = pageResponse(failure, '$context.requestId')
      const { statusCode, responseParameters, responseTemplates } = made[failure]
      expect([statusCode, responseTemplates], failure).toEqual([String(status), { 'application/json': body }])
      expect(body).toMatch(/^<!doctype html>\n<html lang="en">[ -~]*<section lang="es"><h2>[ -~]*\n$/)
      for (const [name, value] of Object.entries(headers))
        expect(responseParameters[`gatewayresponse.header.${name}`]).toBe(
          name === 'x-request-id' ? 'context.requestId' : `'${value}'`,
        )
      expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    }
  })

  it('logs like the other API, and limits the forms that need no session like sign-ins', () => {
    const [api, web] = ['ApiRest', 'WebApiRest'].map((id) => prod.one('AWS::ApiGateway::Stage', id).Properties)
    expect(web.AccessLogSetting.Format).toBe(api.AccessLogSetting.Format)
    expect(web.MethodSettings[0]).toEqual(api.MethodSettings[0])
    const limited = web.MethodSettings.slice(1)
    expect(limited.map(({ HttpMethod, ResourcePath }: any) => `${HttpMethod} ${ResourcePath}`)).toContain(
      'POST /~1sign-in',
    )
    for (const { ThrottlingRateLimit } of limited) expect(ThrottlingRateLimit).toBe(STAGES.prod.throttle.signIn.rate)
  })

  it('is served at its own domain alone, because no link works at the address of API Gateway', () => {
    for (const stage of [prod, other])
      expect(stage.one('AWS::ApiGateway::RestApi', 'WebApiRest').Properties.DisableExecuteApiEndpoint).toBe(true)
    expect(other.one('AWS::ApiGateway::DomainName', 'WebApiRest').Properties).toMatchObject({
      DomainName: 'app.shop.test',
      EndpointAccessMode: 'STRICT',
    })
    expect(other.outputs.has('WebDomainTarget')).toBe(true)
    expect(prod.ofType('AWS::ApiGateway::Account')).toHaveLength(1)
  })
})

describe('the addresses of a stage', () => {
  const filled = {
    webBaseUrl: 'https://shop.de',
    mailDomain: 'mail.shop.de',
    alarmEmail: 'night@shop.de',
    apiDomain: null,
    webDomain: null,
  }
  const webDomain = (name: string) => ({ webDomain: apiDomain(name).apiDomain })
  const apiDomain = (name: string) => ({
    apiDomain: { name, certificateArn: 'arn:aws:acm:us-east-1:1:certificate/one' },
  })

  it.each([
    [{}, []],
    [apiDomain('api.testing.shop.de'), []],
    [
      { apiDomain: undefined },
      [
        'apiDomain is missing: clients would have to change their address later. Null serves the address of API Gateway',
      ],
    ],
    [
      { webDomain: undefined },
      ['webDomain is missing: nobody would reach a page. Null: another server is the front end'],
    ],
    [webDomain('shop.de'), []],
    [webDomain('app.shop.de'), ['webDomain is not the domain of webBaseUrl: links in mails would lead elsewhere']],
    [{ alarmEmail: undefined }, ['alarmEmail is missing: nobody would be told of an alarm']],
    [{ alarmEmail: 'night@shop.example' }, ['alarmEmail is a placeholder: night@shop.example']],
    [{ webBaseUrl: 'https://example.com/app' }, ['webBaseUrl is a placeholder: example.com']],
    [{ mailDomain: 'example' }, ['mailDomain is a placeholder: example']],
    [{ problemBaseUrl: 'https://shop.test/problems' }, ['problemBaseUrl is a placeholder: shop.test']],
    [apiDomain('API.EXAMPLE'), ['apiDomain is a placeholder: API.EXAMPLE']],
  ])(
    'are refused without an alarm email or a choice of the API’s domain, or with a domain that nobody can own: %j',
    (change, faults) => {
      expect(addressFaults({ ...filled, ...change })).toEqual(faults)
    },
  )
})

describe('the mail domain', () => {
  it('has DKIM, MAIL FROM and DMARC records among the outputs', () => {
    const records = [...prod.outputs].filter(([name]) => name.startsWith('MailRecord')).map(([, value]) => value)
    expect(records.slice(0, 3).map((value) => JSON.stringify(value))).toEqual(
      [1, 2, 3].map((index) =>
        expect.stringMatching(new RegExp(`DkimDNSTokenName${index}.* CNAME .*DkimDNSTokenValue${index}`)),
      ),
    )
    expect(records.slice(3).map((value) => prod.named(value))).toEqual([
      'bounce.tenantry.example MX 10 feedback-smtp..amazonses.com',
      'bounce.tenantry.example TXT "v=spf1 include:amazonses.com ~all"',
      '_dmarc.tenantry.example TXT "v=DMARC1; p=none"',
    ])
  })
})

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

  it('retries no failed run of a job, whose alias has settings of its own for asynchronous invocations', () => {
    const scheduled = deployedJobs.filter(({ job }) => job.everySeconds !== undefined)
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

describe('a job', () => {
  it('runs by its schedule, and the dead-letter queue keeps the event of a failed run', () => {
    const schedules = prod.ofType('AWS::Scheduler::Schedule').map(({ Properties }) => Properties)
    const scheduled = deployedJobs.filter(({ job }) => job.everySeconds !== undefined)
    expect(schedules).toHaveLength(scheduled.length)
    for (const { job } of scheduled) {
      const lambda = functionsOf(prod, 'prod').get(job.name)
      const schedule = schedules.find(({ Target }) => aliased(prod, Target.Arn) === lambda)
      expect(schedule?.ScheduleExpression).toBe(
        job.everySeconds === 3600
          ? 'rate(1 hour)'
          : `rate(${(job.everySeconds ?? 0) / 60} minute${job.everySeconds === 60 ? '' : 's'})`,
      )
      expect(prod.named(schedule?.Target.DeadLetterConfig.Arn)).toBe('JobsFailed')
      expect(prod.named(lambda?.Properties.DeadLetterConfig.TargetArn)).toBe('JobsFailed')
      expect(lambda?.Properties.Timeout).toBe(job.timeoutSeconds)
    }
  })

  it('is invocable only with an IAM permission, while API Gateway may invoke route groups alone', () => {
    const open = prod.ofType('AWS::Lambda::Permission').map(({ Properties }) => Properties)
    for (const { Principal, FunctionName, SourceArn } of open) {
      expect(Principal).toBe('apigateway.amazonaws.com')
      expect(prod.named(SourceArn)).toMatch(/^arn::execute-api:::(Web)?ApiRest/)
      const name = [...functionsOf(prod, 'prod')].find(([, f]) => aliased(prod, FunctionName) === f)?.[0] ?? ''
      expect([...groups.map(({ group }) => group.name), site.name]).toContain(name)
    }
  })
})

describe('a message between services', () => {
  const templateOf = (stage: Synthesized): Assembly => ({ folder: '', resources: Object.fromEntries(stage.resources) })
  const lost = (assembly: Assembly) =>
    undeliverable(assembly, resolver(assembly, { keyArn: (id) => `arn:aws:kms:key/${id}`, secretValue: () => '' }))

  it('arrives: no policy of a role, a queue, a topic or a key denies it', () => {
    for (const stage of [prod, other]) expect(lost(templateOf(stage))).toEqual([])
  })

  /** Removes what a service or a role may do from the policies whose ids begin so. */
  const without = (actions: RegExp, policies: RegExp) => (resources: Record<string, any>) => {
    for (const [id, { Properties }] of Object.entries(resources)) {
      const document = policies.test(id) ? (Properties.PolicyDocument ?? Properties.KeyPolicy) : undefined
      for (const statement of document?.Statement ?? [])
        statement.Action = listed(statement.Action).filter((action) => !actions.test(String(action)))
    }
  }
  it.each([
    [
      'the event of a failed run, by the queue',
      without(/sqs:Send/, /^Jobsmaintain.*Policy/),
      /Jobsmaintain.* sqs:Send/,
    ],
    [
      'the event of a failed run, by the key',
      without(/kms:/, /^Jobsmaintain.*Policy/),
      /Jobsmaintain.* kms:GenerateDataKey/,
    ],
    [
      'a schedule’s own event, by the key',
      without(/kms:/, /ScheduleRole.*Policy/),
      /ScheduleRole.* kms:GenerateDataKey/,
    ],
    ['a schedule’s run', without(/lambda:/, /ScheduleRole.*Policy/), /ScheduleRole.* lambda:InvokeFunction/],
    ['an alarm', without(/sns:Publish/, /^OperationsAlarms.*Policy/), /cloudwatch.* sns:Publish/],
    [
      'an event that the bus cannot encrypt, by its queue',
      without(/sqs:Send/, /^EventsFailedPolicy/),
      /events.* sqs:Send/,
    ],
    [
      'an alarm, a bounce and an event, by the key',
      without(/GenerateDataKey/, /^KeysService/),
      /cloudwatch.* kms:Gen[^]*ses.* kms:Gen[^]*events.* kms:Gen/,
    ],
  ])('is missed when a policy denies it: %s', (_what, plant, named) => {
    const resources = structuredClone(Object.fromEntries(prod.resources))
    plant(resources)
    expect(lost({ folder: '', resources }).join('\n')).toMatch(named)
  })
})
