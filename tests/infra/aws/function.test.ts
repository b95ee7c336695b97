import * as v from 'valibot'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Addresses } from '#infra/aws/addresses.ts'
import { reservedConcurrency, type Stage, STAGES } from '#infra/stages.ts'
import { RELEASE, synthesized } from './synthesized.ts'
import { declared, functionsOf, prod } from './two-stages.ts'

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
        ReservedConcurrentExecutions: expect.any(Number),
        // Lambda's own lines of each invocation would be half of the logs.
        LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN' },
      })
      expect(Properties.TracingConfig, name).toBeUndefined()
    }
  })

  it('knows the commit of its release, which is an output of the stack', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod'))
      expect(Properties.Environment.Variables.RELEASE, name).toBe(RELEASE)
    expect(prod.outputs.get('ReleaseCommit')).toBe(RELEASE)
  })

  it('has settings for the secrets that its needs imply, and for no other', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      const settings = Object.keys(Properties.Environment.Variables).filter((key) => /_SECRET_IDS?$|^VAULT/.test(key))
      const expected = (declared.get(name)?.needs ?? []).flatMap((need) => {
        if (need.startsWith('database:')) return ['DATABASE_SECRET_ID']
        if (need === 'role-passwords') return ['ROLE_SECRET_IDS']
        if (need === 'pepper') return ['PEPPER_SECRET_ID']
        if (need === 'mail-key') return ['MAIL_KEY_SECRET_ID']
        if (need === 'factor-key') return ['FACTOR_KEY_SECRET_ID']
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
    expect([STAGES.staging.settings, STAGES.prod.settings]).toEqual(
      Array(2).fill(expect.objectContaining({ SESSION_SLIDE_STEP_SECONDS: '60' })),
    )
    const { SESSION_SLIDE_STEP_SECONDS } =
      functionsOf(prod, 'prod').get('members')?.Properties.Environment.Variables ?? {}
    expect(SESSION_SLIDE_STEP_SECONDS).toBe('60')
  })

  it('verifies the database’s certificate whenever it connects', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      expect(Properties.Environment.Variables.DATABASE_TLS, name).toBe(
        Properties.VpcConfig === undefined ? undefined : 'verify-full',
      )
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
      // Other services invoke authorize for each of their requests, and Secrets Manager the rotation of all logins together.
      if (declared.get(name)?.kind === 'worker' && !['authorize', 'rotate-password'].includes(name))
        expect(instances, name).toBeLessThanOrEqual(4)
      return instances
    })
    expect(reserved.reduce((sum, instances) => sum + instances, 0)).toBeLessThanOrEqual(900)
  })
})
