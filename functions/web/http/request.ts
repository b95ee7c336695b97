import type middy from '@middy/core'
import { randomBytes } from 'node:crypto'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { Client } from '#shared/client/client.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { queryOf } from '#shared/http/form.ts'
import { RequestHeaders } from '#shared/http/headers.ts'
import { gatewayId } from '#shared/http/request.ts'
import { TOKEN_PATTERN } from '#shared/secret/secret.ts'
import { type CookieName, deleteCookie, readCookies } from '#web/http/cookies.ts'
import type { Language } from '#shared/schema/language.ts'
import { languageOf } from '#web/http/language.ts'
import { type MailLink, readLinks } from '#web/http/links.ts'
import type { Me, OwnPasskey } from '#web/http/me.ts'
import type { Page } from '#web/http/page.ts'
import type { WebRuntime } from '#web/http/runtime.ts'

/** The state of a request. Each middleware fills in its part. */
export interface WebState {
  readonly headers: RequestHeaders
  readonly requestId: string
  language: Language
  readonly cookies: ReadonlyMap<CookieName, string>
  /** The address of the page, without its query. */
  readonly path: string
  readonly query: URLSearchParams
  matched: { readonly page: Page; readonly params: Readonly<Record<string, string>> } | null
  runtime: WebRuntime | null
  /** Calls the API as the browser that sent the request, with its session if it has one. */
  call: Client['call'] | null
  /** As `call`, with the ETag of the response. */
  callWithEtag: Client['callWithEtag'] | null
  callForFile: Client['callForFile'] | null
  /** What `load` of the page calls the API with: its responses bring the session along. */
  loader: Client | null
  form: URLSearchParams | null
  /** The session token, or null when the browser sent no well-formed one. A step-up gives the session another. */
  token: string | null
  session: Me | null
  /** The passkey that a form of the page may take as a proof. */
  ownPasskey: OwnPasskey | null
  /** The links of mails that the browser opened, newest first. */
  readonly links: readonly MailLink[]
  /** The link that the page belongs to. */
  link: MailLink | null
  /** The browser says that a page of ours sent the form. */
  fromOurPage: boolean
  /** The form is ours, but its session or its cookie is gone: the page was open for too long. */
  isOld: boolean
  /** What `load` of the page returns. */
  loading: Promise<unknown> | null
  /** The random value behind the CSRF fields of forms that need no session. */
  readonly formSecret: string
  /** The Set-Cookie headers of the response. */
  readonly setCookies: string[]
}

/** The Lambda context with the request's state: middy passes only the context on to the handler. */
export type WebContext = Context & { request: WebState }

/** A middleware of the pages. */
export type WebMiddleware = middy.MiddlewareObj<APIGatewayProxyEvent, ProxyResult, Error, WebContext>

/** Returns a part that an earlier middleware filled in. Throws before that. */
export function given<Part>(part: Part | null): Part {
  if (part === null) throw new Error('a middleware that fills in this part has not run')
  return part
}

const FORM_SECRET = /^[A-Za-z0-9_-]{22}$/

/** Builds the initial state from the API Gateway event. */
export function beginPage(event: APIGatewayProxyEvent): WebState {
  const headers = new RequestHeaders(event.multiValueHeaders)
  const cookies = readCookies(headers)
  const known = cookies.get('form') ?? ''
  return {
    headers,
    requestId: gatewayId(event),
    language: languageOf(cookies.get('lang'), headers.get('accept-language')),
    cookies,
    path: event.path,
    query: new URLSearchParams(queryOf(event)),
    matched: null,
    runtime: null,
    call: null,
    callWithEtag: null,
    callForFile: null,
    loader: null,
    form: null,
    token: TOKEN_PATTERN.test(cookies.get('session') ?? '') ? (cookies.get('session') ?? null) : null,
    session: null,
    ownPasskey: null,
    links: readLinks(cookies),
    link: null,
    fromOurPage: false,
    isOld: false,
    loading: null,
    formSecret: FORM_SECRET.test(known) ? known : randomBytes(16).toString('base64url'),
    setCookies: [],
  }
}

/** Deletes the cookies of the session. */
export function forgetSession(state: WebState): void {
  for (const name of ['session', 'csrf'] as const)
    if (state.cookies.has(name)) state.setCookies.push(deleteCookie(name))
}

/** Whether the browser sent any cookie of a session. */
export const hasSessionCookie = ({ cookies }: WebState): boolean => cookies.has('session')
