import { startCache } from '#infra/local/cache.ts'
import { type Gateway, startGateway } from '#infra/local/gateway.ts'
import { loginOf } from '#infra/local/database.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/config.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { createRuntime, type Runtime } from '#shared/runtime.ts'
import { accessOf, connectTo, runtimeFor } from './access.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { seeingFetch } from './documented.ts'
import { startTestMail, type TestMail } from './mail.ts'
import { lambdaContext } from './lambda-context.ts'
import { startTestVault, type TestVault } from './vault.ts'

export const PASSWORD = 'correct horse battery staple'
export const MAIL_KEY = 'a mail key for the tests, of which no other use is made'
export const PEPPER = 'a pepper for the tests, of which no other use is made'

/** The whole service on a copy of the template: real Postgres, real cache protocol, real HTTP. */
export interface TestService {
  readonly database: TestDatabase
  readonly gateway: Gateway
  readonly runtime: Runtime
  readonly cache: Awaited<ReturnType<typeof startCache>>
  readonly mail: TestMail
  readonly vault: TestVault
  /** The jobs that were woken, in order. */
  readonly woken: readonly string[]
  request(route: string, options?: RequestOptions): Promise<Answer>
  /** Signs in and returns the session token; with a slug, the tenant is chosen too. */
  signIn(email: string, slug?: string): Promise<string>
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

/** Starts the service. `groups` are route groups besides those of functions/; `env` overrides settings. */
export async function startService(
  options: { env?: Record<string, string>; groups?: readonly RouteGroup[] } = {},
): Promise<TestService> {
  const database = await createTestDatabase()
  const cache = await startCache({ force: 'in-process' })
  const vault = await startTestVault()
  const woken: string[] = []
  const config = parseConfig({
    DATABASE_TLS: 'disable',
    DATABASE_CONNECTIONS: '10',
    ARGON2_MEMORY_KIB: '64',
    ARGON2_ITERATIONS: '1',
    LOGIN_IP_LIMIT: '1000000',
    LOGIN_EMAIL_LIMIT: '1000000',
    VENDOR_URLS: vault.vendorUrls,
    ...options.env,
  })
  const runtime = createRuntime(
    config,
    accessOf({
      login: loginOf(database.appUrl),
      tokens: { pepper: PEPPER, mail_key: MAIL_KEY },
      cache: { url: cache.url, token: cache.token },
      vaultLogin: loginOf(database.vaultUrl),
    }),
    {
      wake: async (job) => {
        woken.push(job)
      },
      openVault: () => vault.openVault(database),
    },
  )
  const mail = await startTestMail({
    config,
    database: connectTo(database.workerUrl, config.database),
    pepper: PEPPER,
    mailKey: MAIL_KEY,
    vault: runtime.vault,
  })
  const groups = [...(await routeGroups()).map(({ group }) => group), ...(options.groups ?? [])]
  const gateway = await startGateway({
    port: 0,
    problemBaseUrl: config.problemBaseUrl,
    integrations: groups.map((group) => {
      const handle = lambda(group, { config, open: async () => runtimeFor(group, runtime) })
      return { group, invoke: (event) => handle(event, lambdaContext) }
    }),
  })

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
      body: text === '' ? null : JSON.parse(text),
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

  return {
    database,
    gateway,
    runtime,
    cache,
    mail,
    vault,
    woken,
    request,
    signIn,
    close: async () => {
      await gateway.close()
      await runtime.database.close()
      await runtime.vault.close()
      await vault.close()
      await mail.close()
      await cache.close()
      await database.drop()
    },
  }
}
