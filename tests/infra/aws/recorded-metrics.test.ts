import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import { METRICS, type MetricName } from '#shared/base/metrics.ts'
import { JOB_KINDS } from '#shared/queue/kinds.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { createMember } from '#tests/support/minted-session.ts'
import { whileRefused } from '#tests/support/refuse-writes.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { startWholeStack, type WholeStack } from '#tests/support/whole-stack.ts'
import { synthesized } from './synthesized.ts'

const SLUG = 'acme-print'
const TRACE = '1-5759e988-bd862e3fe1be46a994272793'

let stack: WholeStack
let ses: HttpServer

beforeAll(async () => {
  // SES refuses every mail.
  ses = await startHttpServer({ answer: () => json(500, {}) })
  stack = await startWholeStack({
    functions: [
      'auth',
      'authorize',
      'members',
      'vendor-accounts',
      'open-credential',
      'deliver-mail',
      'verify-vendors',
      'sync-catalog',
      'measure',
    ],
    env: {
      _X_AMZN_TRACE_ID: `Root=${TRACE};Parent=557abcec3ee5a047;Sampled=1`,
      LOGIN_EMAIL_LIMIT: '3',
      AWS_ENDPOINT_URL_SESV2: ses.url,
    },
  })
})
afterAll(async () => {
  await stack.close()
  await ses.close()
})

const parsed = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

const isMetrics = (line: object): boolean => '_aws' in line

interface Ran {
  readonly status: number
  /** The log lines of this invocation. */
  readonly lines: any[]
  /** The metric values, by metric and value of its extra dimension. */
  readonly values: Record<string, number | number[]>
}

/** Invokes a function once, and waits until its log lines satisfy `until`, which the last line must. */
async function run(name: string, event: unknown, until: (lines: any[]) => boolean): Promise<Ran> {
  const from = stack.logged().length
  const result: ProxyResult | undefined = await stack.invoke(name, event, 25_000)
  await vi.waitUntil(() => until(parsed(stack.logged().slice(from))), { timeout: 5000, interval: 5 })
  const lines = parsed(stack.logged().slice(from))
  const values: Record<string, number | number[]> = {}
  for (const line of lines.filter(isMetrics)) {
    for (const { Metrics } of line['_aws'].CloudWatchMetrics) {
      for (const { Name } of Metrics) {
        const { by } = METRICS[Name as MetricName]
        values[by === null || by === 'function' ? Name : `${Name} ${line[by]}`] = line[Name]
      }
    }
  }
  return { status: result?.statusCode ?? 0, lines, values }
}

const wrote =
  (...names: MetricName[]) =>
  (lines: any[]) =>
    names.every((name) => lines.some((line) => name in line))

interface Asked {
  readonly token?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly params?: Record<string, string>
}

const CLIENT_REQUEST_ID = 'sent-by-two-clients'

const event = (route: string, { token, headers = {}, ...rest }: Asked = {}): APIGatewayProxyEvent =>
  gatewayEvent({
    route,
    headers: {
      'x-request-id': CLIENT_REQUEST_ID,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...rest,
  })

const signIn = (email: string, password: string, headers: Record<string, string> = {}) =>
  run('auth', event('POST /v1/auth/login', { body: { email, password }, headers }), (lines) =>
    ['SignInFailed', 'RateLimited'].some((name) => lines.some((line) => name in line)),
  )

const owner = (name: string) => createMember(stack.database.admin, { email: `${name}@operations.test`, slug: SLUG })

async function broken(part: 'kms' | 'vendor' | 'cache', work: () => Promise<unknown>): Promise<void> {
  const switchboard = part === 'cache' ? stack.faults : stack.vault.faults
  await switchboard.set({ part, mode: 'refuse' })
  try {
    await work()
  } finally {
    await switchboard.set({ part, mode: 'ok' })
  }
}

const connectVendor = (token: string, until: (lines: any[]) => boolean) => {
  const body = { vendor: 'ss-activewear', account_number: '12345', secret: 'a-secret-of-a-shop' }
  return run('vendor-accounts', event('POST /v1/vendor-accounts', { token, body }), until)
}

describe('a deployed function', () => {
  it('writes sign-ins for the stage and its cold start for the function, one metrics line for each', async () => {
    const { status, lines, values } = await signIn('owner@acme.test', PASSWORD)
    expect(status).toBe(200)
    expect(values).toMatchObject({ SignInSucceeded: 1, SignInFailed: 0, ColdStart: 1 })
    const written = lines.filter(isMetrics).map((line) => {
      const [{ Namespace, Dimensions, Metrics }] = line['_aws'].CloudWatchMetrics
      return { line, Namespace, Dimensions, Metrics }
    })
    expect(written).toEqual(
      expect.arrayContaining([
        {
          line: expect.objectContaining({ service: 'tenantry', stage: 'test', function: 'tenantry-test-auth' }),
          Namespace: 'Tenantry',
          Dimensions: [['service', 'stage', 'function']],
          Metrics: expect.arrayContaining([{ Name: 'DatabaseConnect', Unit: 'Milliseconds' }]),
        },
        {
          line: expect.objectContaining({ service: 'tenantry', stage: 'test' }),
          Namespace: 'Tenantry',
          Dimensions: [['service', 'stage']],
          Metrics: expect.arrayContaining([{ Name: 'SignInSucceeded', Unit: 'Count' }]),
        },
      ]),
    )
    expect(written).toHaveLength(2)
    const again = await signIn('owner@acme.test', 'a wrong password of fifteen')
    expect([again.status, again.values]).toMatchObject([401, { SignInSucceeded: 0, SignInFailed: 1 }])
  })

  it('counts a 401 by cause, a 403, and a 429 by limit', async () => {
    const { token } = await createMember(stack.database.admin, {
      email: 'viewer@operations.test',
      role: 'viewer',
      slug: SLUG,
    })
    const causes = async (headers: Record<string, string>) =>
      (await run('auth', event('GET /v1/auth/session', { headers }), wrote('Unauthorized'))).values
    expect(await causes({})).toEqual({ 'Unauthorized absent': 1 })
    expect(await causes({ authorization: 'Bearer short' })).toEqual({ 'Unauthorized malformed': 1 })
    expect(await causes({ authorization: `Bearer ${'A'.repeat(43)}` })).toEqual({ 'Unauthorized unknown': 1 })
    const invitation = { token, body: { email: 'new@operations.test', role: 'viewer' } }
    const refused = await run('members', event('POST /v1/members/invite', invitation), wrote('Forbidden'))
    expect([refused.status, refused.values]).toMatchObject([403, { Forbidden: 1 }])
    for (let attempt = 0; attempt < 3; attempt += 1) await signIn('sales@acme.test', 'a wrong password of fifteen')
    const limited = await signIn('sales@acme.test', PASSWORD)
    expect([limited.status, limited.values]).toMatchObject([429, { 'RateLimited login-email': 1 }])
    expect(limited.values).not.toHaveProperty('SignInFailed')
  })

  it('counts each decision for another service by its outcome, and a 401 of API Gateway as thrown', async () => {
    const { token } = await owner('asked')
    const outcome = async (question: object) => {
      const { values } = await run('authorize', { permission: null, request_id: 'r', ...question }, wrote('Authorized'))
      return Object.entries(values).filter(([name]) => name.startsWith('Authorized'))
    }
    expect(await outcome({ authorization: [`Bearer ${token}`] })).toEqual([['Authorized allowed', 1]])
    expect(await outcome({ authorization: [] })).toEqual([['Authorized unauthorized', 1]])
    expect(await outcome({ authorization: [`Bearer ${token}`], permission: 'no.such' })).toEqual([
      ['Authorized forbidden', 1],
    ])
    const gateway = { type: 'REQUEST', methodArn: 'a/b/GET/c', multiValueHeaders: {}, requestContext: {} }
    await expect(outcome(gateway)).rejects.toThrow('Unauthorized')
    await vi.waitUntil(() => parsed(stack.logged()).filter(({ outcome: of }) => of === 'thrown').length === 1)
  })

  it('counts each opening of a credential by its outcome', async () => {
    const { token } = await owner('opening')
    const [tenant] = await stack.database.admin`select id from app.tenants where slug = ${SLUG}`
    const outcomeOf = async (alias = 'billing') => {
      const asked = { tenant_id: tenant?.['id'], vendor: 'ss-activewear', reason: 'a test', request_id: 'r' }
      const counted = () => parsed(stack.logged()).filter((line) => 'CredentialOpened' in line)
      const before = counted().length
      await stack.invoke('open-credential', asked, 25_000, alias).catch(() => {})
      await vi.waitUntil(() => counted().length > before, { timeout: 5000, interval: 5 })
      return counted().at(-1)['outcome']
    }
    expect(await outcomeOf()).toBe('none')
    await broken('vendor', () => connectVendor(token, wrote('VendorUnreachable')))
    expect(await outcomeOf('live')).toBe('refused')
    await broken('kms', async () => expect(await outcomeOf()).toBe('failed'))
    expect(await outcomeOf()).toBe('opened')
  })

  it('writes nothing for a successful session check', async () => {
    const { token } = await owner('quiet')
    const from = stack.logged().length
    for (let use = 0; use < 3; use += 1) {
      expect((await run('auth', event('GET /v1/auth/session', { token }), () => true)).status).toBe(200)
    }
    // This later request's lines are there, so every earlier line is too.
    await run('auth', event('GET /v1/auth/session'), wrote('Unauthorized'))
    expect(parsed(stack.logged().slice(from)).map(({ message = 'metrics' }) => message)).toEqual([
      'request refused',
      'metrics',
    ])
  })

  it('counts a 5xx, and the dependency that failed', async () => {
    const { token } = await owner('unlucky')
    await broken('kms', async () => {
      const { status, values } = await connectVendor(token, wrote('ServerError', 'KmsFailed'))
      expect([status, values]).toMatchObject([503, { ServerError: 1, KmsFailed: 1 }])
    })
    await broken('vendor', async () => {
      const { status, values } = await connectVendor(token, wrote('VendorUnreachable'))
      expect([status, values]).toMatchObject([200, { 'VendorUnreachable ss-activewear': 1 }])
    })
    // After a failure the cache is not asked for some seconds.
    await broken('cache', () =>
      vi.waitUntil(async () => (await signIn('both@shops.test', PASSWORD)).values['LimiterDegraded'] === 1, {
        timeout: 10_000,
        interval: 500,
      }),
    )
  })
})

describe('a deployed job', () => {
  const enqueue = (kind: string, payload: object, secondsAgo = 0) =>
    stack.database.admin`
      insert into app.jobs (kind, payload, idempotency_key, run_at)
      values (${kind}, ${JSON.stringify(payload)}::text::jsonb, gen_random_uuid()::text,
              now() - make_interval(secs => ${secondsAgo}::int))`
  // Beside the known kinds there is `other`, which a test enqueues.
  const measure = () =>
    run(
      'measure',
      {},
      (lines) =>
        (['QueueDead', 'QueueWaiting'] as const).every(
          (name) => lines.filter((line) => name in line).length === Object.keys(JOB_KINDS).length + 1,
        ) && wrote('AuditRowsWithoutPartition')(lines),
    )
  const letter = { template: 'password-reset', email: 'owner@acme.test', nonce: 'A'.repeat(43) }

  it('counts failed and dead-lettered queue jobs by kind', async () => {
    await stack.database.admin`delete from app.jobs`
    await enqueue('mail', letter)
    await enqueue('mail', { template: 'unknown' })
    const { values } = await run('deliver-mail', {}, wrote('JobFailed', 'JobDead'))
    expect(values).toMatchObject({ 'JobFailed mail': 1, 'JobDead mail': 1 })
    await enqueue('verify-vendor', {})
    expect((await run('verify-vendors', {}, wrote('JobDead'))).values).toMatchObject({ 'JobDead verify-vendor': 1 })
    await enqueue('sync-catalog', {})
    expect((await run('sync-catalog', {}, wrote('JobDead'))).values).toMatchObject({ 'JobDead sync-catalog': 1 })
  })

  it('measures the queue by kind, including empty kinds', async () => {
    await stack.database.admin`delete from app.jobs`
    await enqueue('mail', letter, 400)
    await enqueue('mail', letter, 30)
    await enqueue('mail', letter, -600)
    await enqueue('other', {}, 10)
    await stack.database.admin`select app.enqueue('verify-vendor', '{}', 'later', now() + interval '6 days')`
    await stack.database.admin`
      insert into app.jobs (kind, payload, idempotency_key, completed_at, dead_at)
      values ('mail', '{}', 'dead', null, now()), ('mail', '{}', 'long dead', null, now() - interval '61 minutes'),
             ('mail', '{}', 'done', now(), null)`
    await stack.database.admin`
      insert into app.jobs (kind, payload, idempotency_key, run_at, leased_until)
      values ('mail', '{}', 'held', now() - interval '1 day', now() + interval '1 minute')`
    await stack.database.admin`delete from app.events`
    await stack.database.admin`
      insert into app.events (id, tenant_id, occurred_at, action, target_type, job_id)
      select gen_random_uuid(), t.id, now() - interval '400 seconds', 'deal.created', 'deal', e.job_id
        from (select id from app.tenants limit 1) t, (values (null), (gen_random_uuid())) as e(job_id)`
    const { values } = await measure()
    expect(values).toMatchObject({
      'QueueWaiting event': 1,
      'QueueDead event': 0,
      'QueueWaiting mail': 2,
      'QueueDead mail': 1,
      'QueueWaiting verify-vendor': 0,
      'QueueOldest verify-vendor': 0,
      'QueueUndone verify-vendor': 0,
      'QueueWaiting other': 1,
      AuditRowsWithoutPartition: 0,
    })
    expect(values['QueueOldest mail']).toBeGreaterThanOrEqual(400)
    expect(values['QueueUndone event']).toBeGreaterThanOrEqual(400)
    // The leased job is a day old.
    expect(values['QueueOldest mail']).toBeLessThan(3600)
  })

  it('measures the audit entries whose year has no partition', async () => {
    const [tenant] = await stack.database.admin`select id from app.tenants limit 1`
    await stack.database.admin`
      insert into app.audit_log (tenant_id, occurred_at, action, target_type)
      select ${tenant?.['id']}, now() + interval '5 years', 'test.stray', 'tenant' from generate_series(1, 3)`
    await stack.database.admin`select pg_stat_force_next_flush()`
    await vi.waitUntil(
      async () => {
        const { values } = await measure()
        return values['AuditRowsWithoutPartition'] === 3
      },
      { timeout: 15_000, interval: 100 },
    )
  })
})

describe('a saved query', () => {
  // Fields that every log has, and the words of the query language.
  const BUILT_IN = new Set(['@timestamp', '@log', '@message'])
  const WORDS = /^(fields|filter|sort|limit|stats|count|count_distinct|bin|1h|as|by|and|or|asc|desc|ispresent|\d+)$/

  /** The field names of a log line, as Logs Insights writes them. */
  const names = (line: object, prefix = ''): string[] =>
    Object.entries(line).flatMap(([name, value]) => {
      const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
      return [`${prefix}${name}`].concat(isObject ? names(value, `${prefix}${name}.`) : [])
    })

  it('uses only fields that its logs have', async () => {
    const { token } = await owner('queried')
    await whileRefused(stack.database.admin, ['app.sessions'], async () => {
      const failed = await run('auth', event('GET /v1/auth/session', { token }), wrote('ServerError'))
      expect(failed.status).toBe(500)
    })
    const prod = await synthesized('prod')
    const access = Object.keys(
      JSON.parse(prod.one('AWS::ApiGateway::Stage', 'ApiRest').Properties.AccessLogSetting.Format),
    )
    const written = new Set(
      parsed(stack.logged())
        .filter((line) => !isMetrics(line))
        .flatMap((line) => names(line)),
    )
    const queries = prod.ofType('AWS::Logs::QueryDefinition').map(({ Properties }) => Properties)
    expect(queries).toHaveLength(6)
    for (const { Name, QueryString, LogGroupNames } of queries) {
      const groups: string[] = LogGroupNames.map((group: unknown) => prod.named(group))
      const known = new Set([
        ...(groups.some((group) => group.endsWith('ApiAccess')) ? access : []),
        ...(groups.some((group) => !group.endsWith('ApiAccess')) ? written : []),
      ])
      const made = new Set<string>([...QueryString.matchAll(/ as (\w+)/g)].map(([, name]) => name))
      const named = QueryString.replaceAll(/"[^"]*"/g, '').match(/@?[\w.]+/g) ?? []
      const fields = named.filter((name: string) => !WORDS.test(name) && !BUILT_IN.has(name) && !made.has(name))
      expect(fields.length, Name).toBeGreaterThan(0)
      for (const field of fields) expect(known, `${Name}: ${field}`).toContain(field)
    }
  })

  it('finds a request by its own id, also if two clients sent the same one, and by the trace id', async () => {
    const asked = event('GET /v1/auth/session')
    const { lines } = await run('auth', asked, wrote('Unauthorized'))
    expect(lines).toContainEqual(
      expect.objectContaining({
        request_id: asked.requestContext.requestId,
        client_request_id: CLIENT_REQUEST_ID,
        xray_trace_id: TRACE,
      }),
    )
  })
})
