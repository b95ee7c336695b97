import { inject, vi } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { type Gateway, startGateway } from '#infra/local/gateway/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { log } from '#shared/base/log.ts'
import type { Need } from '#shared/base/needs.ts'
import { openLimiter } from '#shared/rate-limit/open-limiter.ts'
import { createRuntime, type Invoke, type Runtime, type RuntimeFor } from '#shared/lambda/runtime.ts'
import { accessOf, commonNeeds, connectTo, loginsOf } from './access.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { seeingFetch } from './documented.ts'
import { lambdaContext } from './lambda-context.ts'
import { startTestMail, type TestMail } from './mail.ts'
import { createTenantWith, type TestTenant } from './minted-session.ts'
import { MAIL_KEY, PEPPER, TEST_SETTINGS } from './settings.ts'
import { startTestVault, type TestVault } from './vault.ts'

export { MAIL_KEY, PEPPER }
export const PASSWORD = 'correct horse battery staple'

/** The whole service on a copy of the template: real Postgres, real cache protocol, real HTTP. */
export interface TestService {
  readonly database: TestDatabase
  readonly gateway: Gateway
  /** Of most route groups. */
  readonly runtime: Runtime
  /** Of the group `auth`. */
  readonly authRuntime: Runtime
  readonly cache: Awaited<ReturnType<typeof startCache>>
  readonly mail: TestMail
  /** Of the jobs that send no mail. */
  readonly worker: RuntimeFor<'database:worker' | 'vault'>
  readonly vault: TestVault
  /** The jobs that were invoked, in order. */
  readonly invoked: readonly string[]
  request(route: string, options?: RequestOptions): Promise<Answer>
  /** Returns what the functions log during `work`. */
  logged(work: () => Promise<void>): Promise<string>
  /** Signs in, and with a slug selects that tenant. Returns the session token. */
  signIn(email: string, slug?: string): Promise<string>
  /** SQL as the superuser, who sees and changes every row. */
  readonly sql: TestDatabase['admin']
  /** Makes an active tenant, and in it a member with a session for each role: `const { id, slug, sales } = …`. */
  newTenant<Role extends string>(...roles: readonly Role[]): Promise<TestTenant<Role>>
  close(): Promise<void>
}

export interface RequestOptions {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: any
}

/** Route groups beside those of functions/, and settings that override the tests' own. */
export interface ServiceOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly groups?: readonly RouteGroup[]
}

/** The parts that differ between the sources and an assembly. */
export type ServiceParts = Omit<TestService, 'request' | 'signIn' | 'sql' | 'newTenant'>

/** Starts the service from the sources, or from the bundles if the run has an assembly (tests/assembly). */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  if (inject('assembly') === undefined) return withRequests(await startFromSource(options))
  const { startFromAssembly } = await import('#tests/assembly/service.ts')
  return withRequests(await startFromAssembly(options))
}

/** Adds what tests call to the parts of a service. */
export function withRequests<Parts extends ServiceParts>(parts: Parts): Parts & TestService {
  const { database, gateway } = parts

  const request = async (route: string, { token, body, headers = {} }: RequestOptions = {}): Promise<Answer> => {
    const [method = 'GET', path = '/'] = route.split(' ')
    const response = await seeingFetch(gateway.url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: /[/+]json\b/.test(response.headers.get('content-type') ?? '') && text !== '' ? JSON.parse(text) : null,
    }
  }

  const signIn = async (email: string, slug?: string): Promise<string> => {
    const login = await request('POST /v1/auth/login', { body: { email, password: PASSWORD } })
    if (login.status !== 200) throw new Error(`sign-in of ${email}: ${login.status} ${login.text}`)
    const token: string = login.body.token
    if (slug !== undefined) {
      const [tenant] = await database.admin`select id from app.tenants where slug = ${slug}`
      const selected = await request(`POST /v1/auth/tenants/${tenant?.id}/select`, { token })
      if (selected.status !== 200) throw new Error(`select of ${slug}: ${selected.status} ${selected.text}`)
    }
    return token
  }

  const newTenant: TestService['newTenant'] = (...roles) => createTenantWith(database.admin, ...roles)
  return Object.assign(parts, { request, signIn, sql: database.admin, newTenant })
}

async function startFromSource(options: ServiceOptions): Promise<ServiceParts> {
  const database = await createTestDatabase()
  const cache = await startCache({ force: 'in-process' })
  const vault = await startTestVault()
  const invoked: string[] = []
  const config = parseConfig({
    DATABASE_TLS: 'disable',
    DATABASE_CONNECTIONS: '10',
    ...TEST_SETTINGS,
    VENDOR_URLS: vault.vendorUrls,
    ...options.env,
  })
  const access = {
    logins: loginsOf(database.urls),
    tokenSecrets: { pepper: PEPPER, mailKey: MAIL_KEY },
    cache: { url: cache.url, token: cache.token },
  }
  const opened = vault.openVault(database)
  const invoke: Invoke = async (job, mode) => {
    if (mode === undefined) invoked.push(job)
  }
  const runtimeWith = (needs: readonly Need[]): Runtime =>
    createRuntime(needs, config, accessOf(access, needs), { openLimiter, invoke, openVault: () => opened })
  const runtime = runtimeWith([...commonNeeds('app'), 'vault'])
  const authRuntime = runtimeWith(commonNeeds('auth'))
  const mail = await startTestMail({
    config,
    database: connectTo(database.urls.mailer, config.database),
    pepper: PEPPER,
    mailKey: MAIL_KEY,
  })
  const worker = { config, database: connectTo(database.workerUrl, config.database), vault: runtime.vault }
  const groups = [...(await routeGroups()).map(({ group }) => group), ...(options.groups ?? [])]
  const runtimes: Runtime[] = [runtime, authRuntime]
  const gateway = await startGateway({
    port: 0,
    problemBaseUrl: config.problemBaseUrl,
    integrations: groups.map((group) => {
      const own = runtimeWith(group.needs)
      runtimes.push(own)
      const handle = lambda(group, { config, open: async () => own })
      return { group, invoke: (event) => handle(event, lambdaContext) }
    }),
  })

  return {
    database,
    gateway,
    runtime,
    authRuntime,
    cache,
    mail,
    worker,
    vault,
    invoked,
    logged,
    close: async () => {
      await gateway.close()
      for (const each of runtimes) if ('database' in each) await each.database.close()
      await runtime.vault.close()
      await vault.close()
      await mail.close()
      await worker.database.close()
      await cache.close()
      await database.drop()
    },
  }
}

async function logged(work: () => Promise<void>): Promise<string> {
  const lines: string[] = []
  const keep = (...line: unknown[]): void => {
    lines.push(JSON.stringify(line))
  }
  const spies = (['info', 'warn', 'error'] as const).map((level) => vi.spyOn(log, level).mockImplementation(keep))
  try {
    await work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return lines.join('')
}
