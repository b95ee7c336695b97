import { readdirSync } from 'node:fs'
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { MIGRATIONS } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { parseConfig } from '#shared/base/config.ts'
import { takeUndocumented } from '#tests/support/documented.ts'
import { withRequests } from '#tests/support/service.ts'
import { deploy, encrypt } from './deploy.ts'
import { nextRelease } from './release.ts'
import { startFromAssembly } from './service.ts'
import { SMOKE } from './smoke.ts'
import { type Assembly, declaredFunctions, ofType, readAssembly } from './template.ts'

// Each fault is planted in the template, or in a copy of a bundle. The tests require a message that names it.

const run = inject('assembly')
const stage = run?.stage ?? ''

/** Starts the template's service, runs parts of the smoke test and stops it. Returns the errors of all three, or ''. */
async function errorsOf(mutate: (assembly: Assembly) => void, ...parts: (keyof typeof SMOKE)[]): Promise<string> {
  const errors: unknown[] = []
  const service = await startFromAssembly({}, mutate).catch((error: unknown) => errors.push(error))
  if (typeof service === 'object') {
    for (const part of parts) await SMOKE[part](withRequests(service)).catch((error: unknown) => errors.push(error))
    errors.push(...takeUndocumented())
    if (errors.length > 0)
      errors.push(
        ...service
          .log()
          .split('\n')
          .filter((line) => /"level":"(ERROR|WARN)"/.test(line)),
      )
    await service.close().catch((error: unknown) => errors.push(error))
  }
  return errors.map(String).join('\n')
}

const functionOf = (assembly: Assembly, name: string): any => {
  const id = declaredFunctions(assembly).get(`tenantry-${stage}-${name}`)?.id ?? ''
  return assembly.resources[id]?.Properties
}
const without = (name: string, variable: string) => (assembly: Assembly) => {
  const { Variables } = functionOf(assembly, name).Environment
  if (!(variable in Variables)) throw new Error(`${name} has no ${variable}`)
  delete Variables[variable]
}

const listed = (value: any): any[] => (Array.isArray(value) ? value : [value])

/** Removes an action from the policies of a function's role, or only for resources with this name. */
const denied =
  (name: string, action: string, resource = '') =>
  (assembly: Assembly) => {
    const role = functionOf(assembly, name).Role['Fn::GetAtt'][0]
    const statements = ofType(assembly, 'AWS::IAM::Policy')
      .filter(([, { Roles }]) => Roles[0].Ref === role)
      .flatMap(([, { PolicyDocument }]) => PolicyDocument.Statement)
      .filter(({ Action }) => listed(Action).includes(action))
    if (statements.length === 0) throw new Error(`${name} is not granted ${action}`)
    for (const statement of statements) {
      if (resource === '') statement.Action = listed(statement.Action).filter((each) => each !== action)
      else statement.Resource = listed(statement.Resource).filter((each) => !JSON.stringify(each).includes(resource))
    }
  }

/** Removes a role from the statements of a key policy that allow an action. */
const keyDenied = (key: string, name: string, action: string) => (assembly: Assembly) => {
  const role = functionOf(assembly, name).Role['Fn::GetAtt'][0]
  const KeyPolicy = ofType(assembly, 'AWS::KMS::Key').find(([id]) => id.startsWith(key))?.[1].KeyPolicy
  for (const statement of KeyPolicy.Statement) {
    if (!listed(statement.Action).includes(action) || statement.Principal.AWS === undefined) continue
    statement.Principal.AWS = listed(statement.Principal.AWS).filter((each) => each['Fn::GetAtt']?.[0] !== role)
  }
}

const definitionOf = (assembly: Assembly, api = 'ApiRest'): any =>
  ofType(assembly, 'AWS::ApiGateway::RestApi').find(([id]) => id.startsWith(api))?.[1].Body
const methodsOf = (assembly: Assembly, path: string): any => {
  const found = definitionOf(assembly).paths[path]
  if (found === undefined) throw new Error(`no path ${path}`)
  return found
}
const ANY = 'x-amazon-apigateway-any-method'
const RESPONSES = 'x-amazon-apigateway-gateway-responses'

const api: readonly [fault: string, plant: (assembly: Assembly) => void, named: RegExp][] = [
  [
    'a route without a method',
    (assembly) => delete methodsOf(assembly, '/v1/members/invite')[ANY],
    /no method for POST \/v1\/members\/invite/,
  ],
  [
    'a route with another method',
    (assembly) => {
      const methods = methodsOf(assembly, '/v1/auth/session')
      methods.get = methods[ANY]
      delete methods[ANY]
    },
    /no method for DELETE \/v1\/auth\/session/,
  ],
  [
    'a function that the API may not invoke',
    (assembly) => {
      const role = ofType(assembly, 'AWS::IAM::Role').find(([id]) => id.startsWith('ApiRole'))
      for (const { PolicyDocument } of role?.[1].Policies ?? [])
        PolicyDocument.Statement[0].Resource = PolicyDocument.Statement[0].Resource.filter(
          ({ Ref }: any) => !Ref.startsWith('catalog'),
        )
    },
    /no role lets the API invoke tenantry-\w+-catalog for ANY \/v1\/catalog\/styles/,
  ],
  [
    'a missing gateway response',
    (assembly) => delete definitionOf(assembly)[RESPONSES].REQUEST_TOO_LARGE,
    /no gateway response REQUEST_TOO_LARGE/,
  ],
  [
    'a gateway response without a header',
    (assembly) =>
      delete definitionOf(assembly)[RESPONSES].THROTTLED.responseParameters['gatewayresponse.header.retry-after'],
    /gateway response THROTTLED is .*429/,
  ],
  [
    'an integration with a longer timeout',
    (assembly) =>
      (methodsOf(assembly, '/v1/auth/login')[ANY]['x-amazon-apigateway-integration'].timeoutInMillis = 29_000),
    /ANY \/v1\/auth\/login has a timeout of 29000 ms/,
  ],
  [
    'a function that times out before its integration',
    (assembly) => (functionOf(assembly, 'auth').Timeout = 3),
    /tenantry-\w+-auth times out after 3 s/,
  ],
  [
    'a page without a method',
    (assembly) => delete definitionOf(assembly, 'WebApiRest').paths['/sign-in'],
    /no method for GET \/sign-in/,
  ],
  [
    'a failure of the front end that is no page',
    (assembly) =>
      (definitionOf(assembly, 'WebApiRest')[RESPONSES].THROTTLED = definitionOf(assembly)[RESPONSES].THROTTLED),
    /gateway response THROTTLED is .*problem\+json/,
  ],
  [
    'a reference that cannot be resolved',
    (assembly) => (functionOf(assembly, 'auth').Environment.Variables['CACHE_SECRET_ID'] = { Ref: 'NetworkVpc' }),
    /tenantry-\w+-auth: CACHE_SECRET_ID: Ref NetworkVpc/,
  ],
]

const settings: readonly [name: string, variable: string, parts: (keyof typeof SMOKE)[], named: RegExp][] = [
  ['auth', 'DATABASE_SECRET_ID', ['signIn'], /tenantry-\w+-auth: ConfigError: .*DATABASE_SECRET_ID/],
  ['auth', 'CACHE_SECRET_ID', ['signIn'], /tenantry-\w+-auth: ConfigError: .*CACHE_SECRET_ID/],
  ['web', 'WEB_KEY_SECRET_ID', ['pages'], /tenantry-\w+-web: ConfigError: .*WEB_KEY_SECRET_ID/],
  ['vendor-accounts', 'VAULT_KEY_ID', ['vendors'], /tenantry-\w+-vendor-accounts: ConfigError: .*VAULT_KEY_ID/],
  ['vendor-accounts', 'VENDOR_URLS', ['vendors'], /vendor account is unverified/],
  ['catalog', 'DATABASE_CA_FILE', ['signIn'], /GET \/v1\/catalog\/styles: returned 50\d(.|\n)*certificate/],
  ['auth', 'PROBLEM_BASE_URL', ['operations'], /PROBLEM_BASE_URL/],
  ['deliver-mail', 'WEB_BASE_URL', ['invite'], /WEB_BASE_URL/],
  [
    'deliver-mail',
    'MAIL_FROM',
    ['invite'],
    /-deliver-mail is not authorized to perform ses:SendEmail on .*identity\/tenantry.example/,
  ],
  ['publish-events', 'EVENT_BUS_NAME', ['events'], /-publish-events: ConfigError: .*EVENT_BUS_NAME/],
  [
    'members',
    'FUNCTION_PREFIX',
    ['invite'],
    /-members is not authorized to perform lambda:InvokeFunction on .*function:deliver-mail/,
  ],
]

const grants: readonly [
  fault: string,
  plant: (assembly: Assembly) => void,
  parts: (keyof typeof SMOKE)[],
  named: RegExp,
][] = [
  [
    'the database login of a route group',
    denied('catalog', 'secretsmanager:GetSecretValue', 'DatabaseRoleapp'),
    ['signIn'],
    /-catalog is not authorized to perform secretsmanager:GetSecretValue on .*DatabaseRoleapp/,
  ],
  [
    'the pepper',
    denied('auth', 'secretsmanager:GetSecretValue', 'SecretsPepper'),
    ['signIn'],
    /-auth is not authorized to perform secretsmanager:GetSecretValue on .*SecretsPepper/,
  ],
  [
    'the mail key',
    denied('members', 'secretsmanager:GetSecretValue', 'SecretsMailKey'),
    ['signIn'],
    /-members is not authorized to perform secretsmanager:GetSecretValue on .*SecretsMailKey/,
  ],
  [
    'the key of the secrets',
    keyDenied('KeysService', 'members', 'kms:Decrypt'),
    ['signIn'],
    /-members is not authorized to perform kms:Decrypt on .*KeysService/,
  ],
  [
    'the vault’s key, by the role',
    denied('vendor-accounts', 'kms:GenerateDataKey'),
    ['vendors'],
    /-vendor-accounts is not authorized to perform kms:GenerateDataKey/,
  ],
  [
    'the vault’s key, by the key',
    keyDenied('KeysVault', 'verify-vendors', 'kms:Decrypt'),
    ['vendors'],
    /-verify-vendors is not authorized to perform kms:Decrypt/,
  ],
  [
    'the vault’s key for this encryption context',
    (assembly) => {
      for (const [, { PolicyDocument }] of ofType(assembly, 'AWS::IAM::Policy'))
        for (const { Condition } of PolicyDocument.Statement)
          if (Condition?.StringEquals !== undefined) Condition.StringEquals['kms:EncryptionContext:service'] = 'another'
    },
    ['vendors'],
    /-vendor-accounts is not authorized to perform kms:GenerateDataKey/,
  ],
  [
    'invoking the mailer',
    denied('members', 'lambda:InvokeFunction'),
    ['invite'],
    /-members is not authorized to perform lambda:InvokeFunction on .*-deliver-mail/,
  ],
  [
    'calling a route group from a page',
    denied('web', 'lambda:InvokeFunction', '-auth:'),
    ['pages'],
    /-web is not authorized to perform lambda:InvokeFunction on .*-auth/,
  ],
  [
    'sending email',
    denied('deliver-mail', 'ses:SendEmail'),
    ['invite'],
    /-deliver-mail is not authorized to perform ses:SendEmail on .*identity\//,
  ],
  [
    'sending email to an identity of the account, as in the sandbox',
    (assembly) => {
      for (const [, { PolicyDocument }] of ofType(assembly, 'AWS::IAM::Policy'))
        for (const statement of PolicyDocument.Statement)
          if (statement.Action === 'ses:SendEmail')
            statement.Resource = JSON.parse(
              JSON.stringify(statement.Resource).replace(':identity/*', ':identity/*.example'),
            )
    },
    ['invite'],
    /-deliver-mail is not authorized to perform ses:SendEmail on .*identity\/.*@/,
  ],
  [
    'sending email as another address',
    (assembly) => {
      for (const [, { PolicyDocument }] of ofType(assembly, 'AWS::IAM::Policy'))
        for (const { Condition } of PolicyDocument.Statement)
          if (Condition?.StringEquals?.['ses:FromAddress'] !== undefined)
            Condition.StringEquals['ses:FromAddress'] = 'somebody@tenantry.example'
    },
    ['invite'],
    /-deliver-mail is not authorized to perform ses:SendEmail on .*identity\/[a-z.]*tenantry.example/,
  ],
  [
    'sending email with the configuration set',
    denied('deliver-mail', 'ses:SendEmail', ':configuration-set/'),
    ['invite'],
    /-deliver-mail is not authorized to perform ses:SendEmail on .*configuration-set\//,
  ],
  [
    'what the operators’ commands invoke',
    denied('operate', 'lambda:InvokeFunction'),
    ['work'],
    /-operate is not authorized to perform lambda:InvokeFunction/,
  ],
]

describe('the assembly', () => {
  it('has none of these faults itself', async () => {
    const parts = Object.keys(SMOKE) as (keyof typeof SMOKE)[]
    expect(await errorsOf(() => {}, ...parts)).toBe('')
  })
})

describe('the start fails and names', () => {
  it.each(api)('%s', async (_fault, plant, named) => {
    expect(await errorsOf(plant)).toMatch(named)
  })
})

describe('a missing setting is named', () => {
  // The production stage's addresses are also the defaults, so that a missing setting changes nothing.
  const unseen = parseConfig({}).problemBaseUrl === run?.problemBaseUrl ? ['PROBLEM_BASE_URL', 'MAIL_FROM'] : []
  it.each(settings.filter(([, variable]) => !unseen.includes(variable)))(
    '%s %s',
    async (name, variable, parts, named) => {
      expect(await errorsOf(without(name, variable), ...parts)).toMatch(named)
    },
  )
})

describe('a missing grant is named', () => {
  it.each(grants)('%s', async (_fault, plant, parts, named) => {
    expect(await errorsOf(plant, ...parts)).toMatch(named)
  })
})

describe('a port that no security group lets out', () => {
  it('is named', async () => {
    const closed = await errorsOf((assembly) => {
      for (const [id, { SecurityGroupEgress }] of ofType(assembly, 'AWS::EC2::SecurityGroup'))
        if (id.startsWith('NetworkVendors')) for (const rule of SecurityGroupEgress) rule.FromPort = rule.ToPort = 8443
    }, 'vendors')
    expect(closed).toMatch(/no security group of tenantry-\w+-vendor-accounts lets it connect to port 8080/)
  })
})

describe('the bundle of another function', () => {
  it('is reported by its first route', async () => {
    const swapped = await errorsOf((assembly) => {
      functionOf(assembly, 'members').Code = functionOf(assembly, 'catalog').Code
    }, 'operations')
    expect(swapped).toMatch(/(GET|POST) \/v1\/members/)
  })
})

describe('a deployment fails and names', () => {
  let home: string
  const closers: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'tenantry-faulty-'))
    await chmod(home, 0o711)
  })
  afterAll(async () => {
    for (const close of closers) await close()
    await rm(home, { recursive: true, force: true })
  })

  let deployments = 0
  async function deployment(mutate: (assembly: Assembly) => Promise<void> | void): Promise<string> {
    deployments += 1
    const server = await startPostgres({ dataDir: join(home, `postgres-${deployments}`), durable: false })
    closers.push(() => server.stop('immediate'))
    const caFile = join(home, `ca-${deployments}.crt`)
    await encrypt(server, caFile)
    const assembly = readAssembly(run?.folder ?? '', stage)
    await mutate(assembly)
    const { adminUrl } = server
    const problemBaseUrl = run?.problemBaseUrl ?? ''
    return deploy(assembly, { adminUrl, caFile, problemBaseUrl, rounds: 0 }).then(() => '', String)
  }

  const files = readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
  const lacking: readonly [file: string, named: RegExp][] = [
    ['0013-catalog.sql', /-migrate: .*0013/],
    [files.at(-1) ?? '', new RegExp(`the migration ${files.at(-1)} was not applied|-migrate: `)],
  ]

  it.each(lacking)('a migration that is missing in the bundle: %s', async (file, named) => {
    const failed = await deployment(async (assembly) => {
      const { Code } = functionOf(assembly, 'migrate')
      const name = `lacking-${file}`
      const bundle = join(assembly.folder, `asset.${name}`)
      await cp(join(assembly.folder, `asset.${Code.S3Key.replace('.zip', '')}`), bundle, { recursive: true })
      await rm(join(bundle, 'migrations', file))
      closers.push(() => rm(bundle, { recursive: true }))
      Code.S3Key = `${name}.zip`
    })
    expect(failed).toMatch(named)
  })

  it('a role without a password', async () => {
    expect(await deployment(without('migrate', 'ROLE_SECRET_IDS'))).toMatch(/role identity_app got no password/)
  })

  it('a secret that the migrations may not read', async () => {
    const failed = await deployment(denied('migrate', 'secretsmanager:GetSecretValue', 'DatabaseClusterSecret'))
    expect(failed).toMatch(
      /-migrate is not authorized to perform secretsmanager:GetSecretValue on .*DatabaseClusterSecret/,
    )
  })
})

describe('a rollback', () => {
  const NEXT = ['set local role identity_owner; alter table app.deals add column priority smallint not null default 0']
  // The check for a database that is ahead, in a bundle of the function that migrates.
  const ACCEPTS_AHEAD = /(?<===void 0)&&!\w+\(\w+\.name,\w+\)(?=\)throw)/

  it('succeeds for each event of CloudFormation: Create, Update to the next release, and Update back', async () => {
    // The run deployed its stage with Create.
    const service = await startFromAssembly({})
    onTestFinished(() => service.close())
    const { assembly: first } = service
    const next = await nextRelease(first, { migrations: NEXT })
    expect(await service.migrate(next, first)).toEqual({ applied: next.added, ahead: [], passwords: [] })
    expect(await service.migrate(first, next)).toEqual({ applied: [], ahead: next.added, passwords: [] })
    expect(await service.migrate(first, first), 'CloudFormation sends no event for what did not change').toBeUndefined()
  })

  it('fails and names the migration that the previous release does not accept', async () => {
    const service = await startFromAssembly({})
    onTestFinished(() => service.close())
    const strict = await nextRelease(service.assembly, { migrations: [], edits: { migrate: [ACCEPTS_AHEAD, ''] } })
    const next = await nextRelease(strict, { migrations: NEXT })
    await service.migrate(next, strict)
    await expect(service.migrate(strict, next)).rejects.toThrow(
      /Migration \d+-next.sql was applied, but its file is missing/,
    )
  })
})
