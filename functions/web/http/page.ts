import type * as v from 'valibot'
import type { Client, Route } from '#shared/client/client.ts'
import type { ParamNames } from '#shared/http/request-context.ts'
import type { Permission } from '#shared/identity/permissions.ts'
import { UUID } from '#shared/schema/uuid.ts'
import type { Me, OpenSignIn, OwedFactor, SignedIn } from '#web/http/me.ts'
import type { PageReply } from '#web/http/reply.ts'
import type { FieldErrorCode } from '#shared/schema/field-error.ts'
import type { NavigationName, Texts } from '#web/texts/texts.ts'
import type { FormProblem } from '#web/texts/refused.ts'
import type { Ui } from '#web/view/ui.ts'

/**
 * Who may open a page:
 *
 *   'anyone'          everybody
 *   'link'            the holder of a link from a mail; `link` is its token, or null when the browser has none any more
 *   'session'         whoever is signed in
 *   { permission }    a member of the shop in the address whose role holds the permission; null: any member
 */
export type PageAccess = 'anyone' | 'link' | 'session' | { readonly permission: Permission | null }

/** What a parameter of a path looks like. Any other text in its place is a 404. */
export const PARAMS = {
  slug: /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
  id: UUID,
  role: /^[1-9]\d{0,8}$/,
  kind: /^[a-z][a-z-]{1,62}$/,
  file: /^[a-z]{1,20}-[0-9a-f]{12}\.[a-z]{1,4}$/,
} as const

type Schema = v.GenericSchema<unknown, unknown>
type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : null

/** A session in a shop. */
export type ShopSession = Me & { readonly tenant: NonNullable<Me['tenant']>; readonly role: NonNullable<Me['role']> }

/** What the parts of a shop's page need to know of the request. */
export type ShopUi = Ui & { readonly session: ShopSession }

type SessionFor<A extends PageAccess> = A extends 'anyone' | 'link' ? null : A extends 'session' ? Me : ShopSession

/** A request whose sender may open the page. It is what the parts of a view need, too. */
export interface PageContext<A extends PageAccess, Params, Query, Form, Data> extends Ui {
  readonly params: Params
  readonly query: Query
  /** The fields of the form, parsed. */
  readonly form: Form
  /** What `load` returned. */
  readonly data: Data
  readonly session: SessionFor<A>
  /** The token of the mail's link, for a page with the access `link`. */
  readonly link: A extends 'link' ? string | null : null
  /** Calls the API as the person who opened the page. Throws ProblemError. */
  readonly call: Client['call']
  /** As `call`, with the ETag of the response. */
  readonly callWithEtag: Client['callWithEtag']
  /** Calls the API for a file, and returns its text. */
  readonly callForFile: Client['callForFile']
  /** Returns the session of somebody who may be signed in, or null. */
  readonly findSession: () => Promise<Me | null>
  /** The Set-Cookie headers of the language, for whoever signs in now. */
  readonly languageAtSignIn: readonly string[]
  /** The sign-in of this browser that owes a second factor, or null. */
  readonly openSignIn: OpenSignIn | null
  /** Keeps an open sign-in in a cookie, and returns the address of the page that asks for the factor. */
  readonly keepOpenSignIn: (owed: OwedFactor, email: string) => string
  /** Goes on with the token of a reply, and sets its cookies on every response, also on that of a failure. */
  readonly takeToken: (reply: SignedIn) => void
  /** Returns the Set-Cookie header after the page's link was used. */
  readonly useLink: () => string
  /** Returns the Set-Cookie header that puts the link first that a form of this link page named, or null for no link page. */
  readonly firstLink: (path: string, field: string) => string | null
  /** The key of a form that creates something: a second press of it gets the first success again. */
  readonly idempotencyKey: string | undefined
  /** The shortest new password. */
  readonly minLength: number
  /** How long an invitation can be accepted. */
  readonly inviteTtlSeconds: number
  /** The longest life of an API key, in days. */
  readonly keyMaxDays: number
  /** Where to report a vulnerability. Empty: nowhere. */
  readonly securityContact: string
}

/** What the parts of a link's page need to know of the request. */
export type LinkContext = Pick<
  PageContext<'link', unknown, unknown, unknown, unknown>,
  keyof Ui | 'link' | 'call' | 'findSession' | 'minLength'
>

/** What `load` may use: the session is not known yet. */
export type LoadContext<Params, Query> = Client & {
  readonly params: Params
  readonly query: Query
}

interface Definition<
  R extends string,
  A extends PageAccess,
  Q extends Schema | undefined,
  F extends Schema | undefined,
  Data,
> {
  /** `GET /path` or `POST /path`. The names of its parameters are those of PARAMS. */
  readonly route: ParamNames<R> extends keyof typeof PARAMS ? R : never
  readonly access: A
  /** The navigation of the shop leads to this page, by the label in `navigation` of these texts. */
  readonly navigation?: NavigationName
  /** Another address whose pages belong to it in the navigation. */
  readonly covers?: string
  /** The query. One that does not parse is a 404. */
  readonly query?: Q
  /** The fields of the form, each a text. */
  readonly form?: F
  /**
   * Reads what a GET shows. Its responses bring the session along, so that a page needs one call of the API.
   * The API decides for itself what the caller may read.
   */
  readonly load?: (context: LoadContext<Readonly<Record<ParamNames<R>, string>>, Output<Q>>) => Promise<Data>
  /** Does the work. A refusal of the API may be thrown: 401, 403, 404, 429 and failures have pages. */
  readonly handle: (
    context: PageContext<A, Readonly<Record<ParamNames<R>, string>>, Output<Q>, Output<F>, Data>,
  ) => Promise<PageReply>
  /**
   * Shows the form again, with `refusal` in the context: the form did not parse, or the API refused it. Without this, a
   * refusal is a page of its own.
   */
  readonly again?: (
    context: PageContext<A, Readonly<Record<ParamNames<R>, string>>, Output<Q>, null, undefined>,
  ) => Promise<PageReply>
  /** The field at which a refusal of this kind is shown. Other kinds that name no field stand above the form. */
  readonly fieldOf?: Partial<Record<FormProblem, string>>
  /**
   * The route that a POST calls and that needs a step-up. The form asks for the proof when little of the step-up is left, and the POST steps
   * up before it does its work.
   */
  readonly stepUp?: Route
  /** The fields that are a secret on this page alone. They are never filled in, and never kept. */
  readonly secrets?: readonly string[]
  /** The form creates something, and has a key for `idempotencyKey`. */
  readonly creates?: true
  /** The texts of field errors that have words of their own at a field, such as what a code may look like. */
  readonly ownTexts?: (texts: Texts) => OwnTexts
  /** The path of the page that shows the form of a POST, if it is not the GET of the same path. */
  readonly formAt?: string
}

/** A page as the pipeline sees it, without its type parameters. */
export interface Page {
  readonly route: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly access: PageAccess
  readonly navigation: NavigationName | null
  readonly covers: string | null
  readonly query: Schema | null
  readonly form: Schema | null
  readonly load: ((context: LoadContext<unknown, unknown>) => Promise<unknown>) | null
  readonly handle: (context: PageContext<PageAccess, unknown, unknown, unknown, unknown>) => Promise<PageReply>
  readonly again: ((context: PageContext<PageAccess, unknown, unknown, unknown, unknown>) => Promise<PageReply>) | null
  readonly fieldOf: Partial<Record<FormProblem, string>>
  readonly formAt: string
  readonly creates: boolean
  readonly secrets: readonly string[]
  readonly stepUp: Route | null
  readonly ownTexts: ((texts: Texts) => OwnTexts) | null
}

/** Texts by field and code. */
export type OwnTexts = Readonly<Record<string, Partial<Record<FieldErrorCode, string>>>>

const ROUTE = /^(GET|POST) (\/[A-Za-z0-9/{}._-]*)$/

/** Declares a page: its address, who may open it, what it reads from the request, and what it does. */
export function page<
  const R extends string,
  const A extends PageAccess,
  Q extends Schema | undefined = undefined,
  F extends Schema | undefined = undefined,
  Data = undefined,
>(definition: Definition<R, A, Q, F, Data>): Page {
  const { route, access } = definition
  const [, method, path] = ROUTE.exec(route) ?? []
  if (method === undefined || path === undefined) throw new Error(`Not a route: ${route}`)
  if ((typeof access === 'object') !== path.startsWith('/s/{slug}'))
    throw new Error(`A page of a shop has an address below /s/{slug} and a permission, or neither: ${route}`)
  const defaults = {
    navigation: null,
    covers: null,
    query: null,
    form: null,
    load: null,
    again: null,
    fieldOf: {},
    formAt: path,
    ownTexts: null,
    creates: false,
    secrets: [],
    stepUp: null,
  }
  // The pipeline fills the context by `access` and the schemas, just as the definition's types say.
  return { ...defaults, ...definition, method, path } as unknown as Page
}

/** Whether a form is a button of a list. It has no place for a proof of presence: a page of its own asks for it, and sends the same form. */
export const isButton = ({ form, formAt, path }: Page): boolean => form === null && formAt !== path
