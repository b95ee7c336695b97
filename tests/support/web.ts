import { randomUUID } from 'node:crypto'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { createResourceMatcher } from '#infra/local/gateway/proxy-event.ts'
import { frontEnd, pagePaths } from '#infra/route-groups.ts'
import { GROUP_OF } from '#shared/client/group-of.ts'
import type { Browser as Browsing } from '#shared/client/invoke-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { formField } from '#web/http/csrf.ts'
import { webLambda } from '#web/http/lambda.ts'
import type { Page } from '#web/http/page.ts'
import { PAGES } from '#web/http/pages.ts'
import type { Send } from '#shared/client/client.ts'
import { seeingFetch } from './documented.ts'
import { lambdaContext } from './lambda-context.ts'
import { PASSWORD, type ServiceOptions, startService, type TestService } from './service.ts'

export const WEB_ORIGIN = 'https://app.tenantry.test'
const WEB_KEY = 'web-key-of-the-tests-0123456789abcdef'

/** The front end in this process, in front of the whole service. */
export interface TestWeb {
  readonly service: TestService
  /** A browser without cookies, at an address of its own. */
  readonly browser: (sourceIp?: string) => Browser
  /** A browser whose user has signed in; with a slug, in that shop. */
  readonly signedIn: (email: string, slug?: string) => Promise<Browser>
  /** Replaces what the front end calls the API with. Null restores it. */
  readonly breakApi: (send: Send | null) => void
  /** Returns the CSRF field of a form that needs no session. */
  readonly formField: (formCookie: string, route: string) => string
  readonly close: () => Promise<void>
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: string | undefined
  readonly method?: string
}

export interface PageAnswer {
  readonly status: number
  readonly headers: Headers
  readonly cookies: readonly string[]
  readonly body: string
  readonly location: string | null
}

/** Starts the service, unless one runs, and the front end that calls it over HTTP in the name of its browsers. */
export async function startWeb({
  env = {},
  pages = PAGES,
  service: running,
  paths = pagePaths(pages),
}: ServiceOptions & {
  readonly pages?: readonly Page[]
  readonly service?: TestService
  /** The paths of its API. During a release they are those of another one. */
  readonly paths?: readonly string[]
} = {}): Promise<TestWeb> {
  const settings = { WEB_BASE_URL: WEB_ORIGIN, TRUSTED_PROXIES: '127.0.0.1/32,::1/128', ...env }
  const service = running ?? (await startService({ env: settings }))
  const { calls } = await frontEnd()
  const toService =
    ({ sourceIp, userAgent, requestId }: Browsing): Send =>
    ({ method, path, params, query, headers, body }) => {
      if (!calls.includes(GROUP_OF[path] ?? '')) throw new Error(`the Lambda of the front end may not invoke ${path}`)
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
      return seeingFetch(`${service.gateway.url}${target}?${query.toString()}`, {
        method,
        headers: {
          ...headers,
          'x-forwarded-for': sourceIp,
          'x-request-id': requestId,
          ...(userAgent === null ? {} : { 'user-agent': userAgent }),
        },
        body,
      })
    }
  let broken: Send | null = null
  const handle = webLambda(pages, {
    config: parseConfig({ ...settings, TRUSTED_PROXIES: '' }),
    open: async () => ({ webKey: WEB_KEY, sendFor: (browser) => broken ?? toService(browser) }),
  })
  const match = createResourceMatcher(paths)
  const invoke = (event: APIGatewayProxyEvent) => handle(event, lambdaContext)
  let browsers = 0
  const browser = (sourceIp = `198.18.${(browsers += 1) >> 8}.${browsers & 255}`) =>
    new Browser((target, sent) => invoke(eventOf(match, target, sent, sourceIp)))
  return {
    service,
    browser,
    signedIn: async (email, slug) => {
      const opened = browser()
      await opened.signIn(email)
      const isThere = opened.page.body.includes(`href="/s/${slug}"`)
      if (slug === undefined || isThere) return opened
      const [shop] = await service.sql`select id from app.tenants where slug = ${slug}`
      await opened.submit('/shops', { tenant: shop?.['id'] })
      return opened
    },
    breakApi: (send) => {
      broken = send
    },
    formField: (formCookie, route) => formField(WEB_KEY, formCookie, route),
    close: () => service.close(),
  }
}

function eventOf(
  match: ReturnType<typeof createResourceMatcher>,
  target: string,
  { headers = {}, body, method = 'GET' }: Sent,
  sourceIp: string,
): APIGatewayProxyEvent {
  const { pathname, searchParams } = new URL(target, WEB_ORIGIN)
  const { resource, params } = match(pathname) ?? { resource: '/', params: {} }
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value : [value]] as const],
  )
  return {
    resource,
    path: pathname,
    httpMethod: method,
    headers: Object.fromEntries(sent.map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders: Object.fromEntries(sent),
    queryStringParameters: Object.fromEntries(searchParams),
    multiValueQueryStringParameters: Object.fromEntries(
      [...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]),
    ),
    pathParameters: Object.keys(params).length === 0 ? null : { ...params },
    stageVariables: null,
    // The front end reads no other field of the context.
    requestContext: {
      identity: { sourceIp },
      requestId: randomUUID(),
    } as unknown as APIGatewayProxyEvent['requestContext'],
    body: body ?? null,
    isBase64Encoded: false,
  }
}

/** A browser without scripts: it keeps cookies, and sends the forms of the page that it shows. */
export class Browser {
  readonly cookies = new Map<string, string>()
  /** The page that it shows. */
  page: PageAnswer = { status: 0, headers: new Headers(), cookies: [], body: '', location: null }
  readonly #invoke: (target: string, sent: Sent) => Promise<ProxyResult>

  constructor(invoke: (target: string, sent: Sent) => Promise<ProxyResult>) {
    this.#invoke = invoke
  }

  /** Sends a request with the cookies, and keeps those of the response. Follows no redirect. */
  async request(target: string, sent: Sent = {}): Promise<PageAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const result = await this.#invoke(target, {
      ...sent,
      headers: { ...(cookie === '' ? {} : { cookie }), ...sent.headers },
    })
    const set = (result.multiValueHeaders?.['set-cookie'] ?? []).map(String)
    for (const line of set) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/; Max-Age=0(;|$)/.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const headers = new Headers()
    for (const [name, value] of Object.entries(result.headers ?? {}))
      if (value !== null) headers.set(name, String(value))
    return { status: result.statusCode, headers, cookies: set, body: result.body, location: headers.get('location') }
  }

  /** Opens an address as a click does: follows redirects, and shows the page. */
  async open(target: string): Promise<PageAnswer> {
    let answer = await this.request(target)
    for (let hops = 0; answer.status === 303 && hops < 8; hops += 1) answer = await this.request(answer.location ?? '/')
    this.page = answer
    return answer
  }

  /** Sends the form of the shown page whose address is `to`, with these fields. Follows redirects. */
  async submit(to: string, fields: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    const answer = await this.post(to, { ...this.hidden(to, fields), ...fields })
    if (answer.status === 303) return this.open(answer.location ?? '/')
    this.page = answer
    return answer
  }

  /** Sends fields as a form of our own page does. */
  post(
    to: string,
    fields: Readonly<Record<string, string>> | [string, string][],
    headers: Sent['headers'] = {},
  ): Promise<PageAnswer> {
    return this.request(to, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        origin: WEB_ORIGIN,
        ...headers,
      },
    })
  }

  /** Returns the hidden fields of the shown page's form that is sent to `to`: the first whose fields are not others. */
  hidden(to: string, fields: Readonly<Record<string, string>> = {}): Record<string, string> {
    const forms = [...this.page.body.matchAll(/<form[^>]* method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs)]
    for (const [, action, content = ''] of forms) {
      const hidden = Object.fromEntries(
        [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
          name ?? '',
          unescaped(value ?? ''),
        ]),
      )
      if (unescaped(action ?? '') !== to) continue
      if (Object.entries(fields).every(([name, value]) => !(name in hidden) || hidden[name] === value)) return hidden
    }
    throw new Error(`the page has no form that is sent to ${to}`)
  }

  async signIn(email: string, password = PASSWORD): Promise<PageAnswer> {
    await this.open('/sign-in')
    return this.submit('/sign-in', { email, password })
  }
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
