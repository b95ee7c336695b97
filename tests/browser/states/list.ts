import type { StackInfo } from '#infra/local/stack.ts'
import { SECURED } from '#infra/local/seed-secured.ts'
import { addressPattern, shopPath } from '#web/http/addresses.ts'
import { PAGES } from '#web/http/pages.ts'
import { lock, LOCKED, type Made } from './made.ts'
import { ENDED, type Person } from './people.ts'
import { ASKING, LONG, ownerOf, type Shop, type ShopName, SHOPS, slugOf } from './shops.ts'

/** A form of the page that is shown, sent with these values. */
export interface Sent {
  readonly to: (made: Made) => string
  readonly values?: Readonly<Record<string, string>>
  /** The page was open for too long. */
  readonly old?: true
}

/** One state of a page: who opens which address, and what they send there. It can be visited any number of times. */
export interface State extends Person {
  readonly name: string
  readonly at: (made: Made) => string
  /** Who has entered a password before, and still owes the second factor. */
  readonly owes?: string
  readonly sends?: Sent
  /** What has to happen shortly before. */
  readonly before?: (stack: StackInfo) => Promise<void>
  /** The status of the page that is shown. A refused form has 422, any other page 200. */
  readonly status?: number
}

/** The pages that a person can open, and that are not only a redirect to another. */
export const VIEWS: readonly string[] = PAGES.filter(
  ({ method, path }) =>
    method === 'GET' && !/\.(ico|txt|csv|ndjson)$|^\/(healthz$|assets\/|\.well-known\/|$)/.test(path),
).map(({ path }) => path)

const owner = { as: ownerOf('ordinary') }
const BASE = shopPath(slugOf('ordinary'))
const here = (path: string) => () => BASE + path
const open = (path: string) => () => path

/** Sends the form of the page to its own address, or to another below it. */
const sent = (to: string, values: Sent['values'] = {}): Sent => ({ to: () => to, values })
const old = (to: string): Sent => ({ to: () => to, old: true })
const inShop = (path: string, values?: Sent['values']): Sent => sent(BASE + path, values)

const run = (name: keyof Made['runs'], shop: ShopName): State => ({
  name,
  as: ownerOf(shop),
  at: ({ runs }) => shopPath(slugOf(shop), `/sync-runs/${runs[name]}`),
})

/** The person with an authenticator app (infra/local/seed-secured.ts). */
const secured = { as: SECURED }
const SECOND_FACTOR = '/account/second-factor'
const POLICY = '/s/acme-print/settings/second-factor'
/** A manager without an app, whom the shop asks for one soon. */
const asked = { as: 'sixty@states.test', in: ASKING }
const ASKED_POLICY = shopPath(ASKING, '/settings/second-factor')
const ofFactor =
  (what: string) =>
  ({ factor }: Made) =>
    `${SECOND_FACTOR}/${factor}/${what}`

/** The states of each page, besides those of every page of a shop. A new page of a shop needs a line only for what is its own. */
const OWN: Readonly<Record<string, readonly State[]>> = {
  '/sign-in': [
    { name: 'first', as: null, at: open('/sign-in') },
    { name: 'session ended', as: ENDED, at: here('/members') },
    {
      name: 'refused',
      as: null,
      at: open('/sign-in'),
      sends: sent('/sign-in', { email: 'ann@states.test', password: 'wrong' }),
    },
    {
      name: 'too many attempts',
      as: null,
      at: open('/sign-in'),
      sends: sent('/sign-in', { email: LOCKED, password: 'wrong' }),
      status: 429,
      before: lock,
    },
    { name: 'open too long', as: null, at: open('/sign-in'), sends: old('/sign-in') },
    {
      name: 'passkey refused',
      as: null,
      at: open('/sign-in'),
      sends: sent('/sign-in/passkey', { credential: '{}' }),
    },
    { name: 'language, open too long', as: null, at: open('/sign-in'), sends: old('/language') },
    { name: 'unknown page', as: null, at: open('/nowhere'), status: 404 },
  ],
  '/forgot-password': [
    { name: 'first', as: null, at: open('/forgot-password') },
    {
      name: 'sent',
      as: null,
      at: open('/forgot-password'),
      sends: sent('/forgot-password', { email: `unknown.${LONG.email}` }),
      status: 200,
    },
    { name: 'open too long', as: null, at: open('/forgot-password'), sends: old('/forgot-password') },
  ],
  '/reset-password': [
    { name: 'first', as: null, at: ({ links }) => links.reset },
    { name: 'long names', as: null, at: ({ links }) => links['long reset'] },
    {
      name: 'refused',
      as: null,
      at: ({ links }) => links.reset,
      sends: sent('/reset-password', { password: 'short' }),
    },
    { name: 'no link', as: null, at: open('/reset-password'), status: 422 },
    { name: 'invalid', as: null, at: ({ links }) => links['invalid reset'], status: 422 },
    { name: 'of somebody else', ...owner, at: ({ links }) => links['long reset'] },
  ],
  '/verify-email': [
    { name: 'first', as: null, at: ({ links }) => links.verify },
    { name: 'open too long', as: null, at: ({ links }) => links.verify, sends: old('/verify-email') },
    { name: 'no link', as: null, at: open('/verify-email'), status: 422 },
    { name: 'invalid', as: 'unverified@states.test', at: ({ links }) => links['invalid verify'], status: 422 },
    { name: 'of somebody else', ...owner, at: ({ links }) => links.verify },
  ],
  '/cancel-reset': [
    { name: 'first', as: null, at: ({ links }) => links.cancel },
    { name: 'open too long', as: null, at: ({ links }) => links.cancel, sends: old('/cancel-reset') },
    { name: 'no link', as: null, at: open('/cancel-reset'), status: 422 },
    { name: 'invalid', as: null, at: ({ links }) => links['invalid cancel'], status: 422 },
    { name: 'of somebody else', ...owner, at: ({ links }) => links.cancel },
  ],
  '/invitation': [
    { name: 'newcomer', as: null, at: ({ links }) => links.newcomer },
    {
      name: 'refused',
      as: null,
      at: ({ links }) => links.newcomer,
      sends: sent('/invitation', { full_name: 'ann@states.test', password: 'short' }),
    },
    { name: 'existing', as: null, at: ({ links }) => links.existing },
    { name: 'signed in', as: 'none@states.test', at: ({ links }) => links.existing },
    { name: 'long names', as: null, at: ({ links }) => links['long newcomer'] },
    { name: 'accepted', as: null, at: ({ links }) => links.accepted },
    { name: 'no link', as: null, at: open('/invitation'), status: 422 },
    { name: 'invalid', as: null, at: ({ links }) => links['invalid invitation'], status: 422 },
    { name: 'of somebody else', as: ownerOf('long'), at: ({ links }) => links['long newcomer'] },
  ],
  '/shops': [
    { name: 'none', as: 'none@states.test', at: open('/shops') },
    { name: 'one', as: 'one@states.test', at: open('/shops') },
    { name: 'one suspended', as: 'closed@states.test', at: open('/shops') },
    { name: 'few', as: 'two@states.test', at: open('/shops') },
    { name: 'long names', as: ownerOf('long'), at: open('/shops') },
    { name: 'many', as: 'sixty@states.test', at: open('/shops') },
    { name: 'not found', as: 'sixty@states.test', at: open('/shops?q=zzz') },
    { name: 'wanted', as: 'sixty@states.test', at: open('/s/shop-5/members') },
    { name: 'refused', as: 'two@states.test', at: open('/shops'), sends: old('/shops') },
  ],
  '/problems/{kind}': [{ name: 'one', as: null, at: open('/problems/last-owner') }],
  '/account': [
    { name: 'ordinary', ...owner, at: open('/account') },
    { name: 'unverified', as: 'unverified@states.test', at: open('/account') },
    { name: 'long names', as: ownerOf('long'), at: open('/account') },
    {
      name: 'refused',
      ...owner,
      at: open('/account'),
      sends: sent('/account/password', { current_password: 'wrong', new_password: 'short', repeated: 'short' }),
    },
    { name: 'language, open too long', ...owner, at: open('/account'), sends: old('/account/language') },
    { name: 'sign-out, open too long', ...owner, at: open('/account'), sends: old('/sign-out') },
  ],
  '/sign-in/second-factor': [
    { name: 'first', as: null, owes: SECURED, at: open('/sign-in/second-factor') },
    {
      name: 'refused',
      as: null,
      owes: SECURED,
      at: open('/sign-in/second-factor'),
      sends: sent('/sign-in/second-factor', { code: '12' }),
    },
  ],
  '/sign-in/recovery-code': [
    {
      name: 'refused',
      as: null,
      owes: SECURED,
      at: open('/sign-in/recovery-code'),
      sends: sent('/sign-in/recovery-code', { recovery_code: 'short' }),
    },
  ],
  [SECOND_FACTOR]: [
    { name: 'none', ...owner, at: open(SECOND_FACTOR) },
    { name: 'start, open too long', ...owner, at: open(SECOND_FACTOR), sends: old(`${SECOND_FACTOR}/start`) },
    { name: 'app', ...secured, at: open(SECOND_FACTOR) },
  ],
  [`${SECOND_FACTOR}/app`]: [
    { name: 'draft', ...secured, at: open(`${SECOND_FACTOR}/app`) },
    {
      name: 'refused',
      ...secured,
      at: open(`${SECOND_FACTOR}/app`),
      sends: sent(`${SECOND_FACTOR}/app`, { code: '12' }),
    },
  ],
  [`${SECOND_FACTOR}/passkey`]: [
    { name: 'first', ...secured, at: open(`${SECOND_FACTOR}/passkey`) },
    {
      name: 'refused',
      ...secured,
      at: open(`${SECOND_FACTOR}/passkey`),
      sends: sent(`${SECOND_FACTOR}/passkey`, { name: '', credential: '{}' }),
    },
  ],
  [`${SECOND_FACTOR}/recovery-codes`]: [
    { name: 'first', ...secured, at: open(`${SECOND_FACTOR}/recovery-codes`) },
    {
      name: 'open too long',
      ...secured,
      at: open(`${SECOND_FACTOR}/recovery-codes`),
      sends: old(`${SECOND_FACTOR}/recovery-codes`),
    },
  ],
  [`${SECOND_FACTOR}/{id}/name`]: [
    { name: 'refused', ...secured, at: ofFactor('name'), sends: { to: ofFactor('name'), values: { name: '' } } },
  ],
  [`${SECOND_FACTOR}/{id}/remove`]: [
    { name: 'first', ...secured, at: ofFactor('remove') },
    { name: 'open too long', ...secured, at: ofFactor('remove'), sends: { to: ofFactor('remove'), old: true } },
  ],
  '/account/confirm': [
    { name: 'password', ...owner, at: open('/account/confirm') },
    { name: 'code', ...secured, at: open('/account/confirm') },
    { name: 'refused', ...secured, at: open('/account/confirm'), sends: sent('/account/confirm', { code: '12' }) },
  ],
  '/account/sessions': [
    { name: 'one', as: 'one@states.test', at: open('/account/sessions') },
    { name: 'many', as: ownerOf('many'), at: open('/account/sessions') },
  ],
  '/s/{slug}': [
    { name: 'asks for a second step', ...asked, at: () => shopPath(ASKING) },
    { name: 'few permissions', as: 'viewer@ordinary.test', at: here('') },
    { name: 'other shop', as: 'two@states.test', in: slugOf('empty'), at: here(''), status: 409 },
  ],
  '/s/{slug}/members': [
    { name: 'not found', ...owner, at: here('/members?q=zzz') },
    { name: 'removed', as: ownerOf('many'), at: () => shopPath(slugOf('many'), '/members?status=revoked') },
    { name: 'below others', as: 'admin@ordinary.test', at: here('/members') },
    { name: 'forbidden', as: 'viewer@ordinary.test', at: here('/members'), status: 403 },
  ],
  '/s/{slug}/members/{id}/role': [
    { name: 'own', ...owner, at: ({ members }) => `${BASE}/members/${members.owner}/role?to=viewer` },
    {
      name: 'refused',
      ...owner,
      at: ({ members }) => `${BASE}/members/${members.owner}/role?to=viewer`,
      sends: { to: ({ members }) => `${BASE}/members/${members.owner}/role` },
    },
  ],
  '/s/{slug}/members/{id}/remove': [
    { name: 'own', as: 'admin@ordinary.test', at: ({ members }) => `${BASE}/members/${members.admin}/remove` },
    {
      name: 'refused',
      ...owner,
      at: ({ members }) => `${BASE}/members/${members.owner}/remove`,
      sends: { to: ({ members }) => `${BASE}/members/${members.owner}/remove` },
    },
  ],
  '/s/{slug}/leave': [{ name: 'refused', ...owner, at: here('/leave'), sends: inShop('/leave') }],
  '/s/{slug}/invitations': [
    {
      name: 'refused',
      ...owner,
      at: here('/invitations'),
      sends: inShop('/invitations', { email: 'viewer@ordinary.test, ann@, bob' }),
    },
    { name: 'filled in', ...owner, at: here('/invitations?email=ann%40states.test') },
  ],
  '/s/{slug}/roles/new': [
    {
      name: 'refused',
      ...owner,
      at: here('/roles/new'),
      sends: inShop('/roles', { code: 'Night Shift', label: 'Owner' }),
    },
    { name: 'of the most', ...owner, at: here('/roles/new?based_on=admin') },
  ],
  '/s/{slug}/roles/{role}': [
    {
      name: 'refused',
      ...owner,
      at: ({ shops }) => `${BASE}/roles/${shops.ordinary.role}`,
      sends: { to: ({ shops }) => `${BASE}/roles/${shops.ordinary.role}`, values: { label: 'Viewer' } },
    },
  ],
  '/s/{slug}/api-keys': [
    { name: 'expired', ...owner, at: here('/api-keys?status=expired') },
    { name: 'revoked', ...owner, at: here('/api-keys?status=revoked') },
  ],
  '/s/{slug}/api-keys/new': [
    { name: 'refused', ...owner, at: here('/api-keys/new'), sends: inShop('/api-keys', { name: 'Storefront' }) },
  ],
  '/s/{slug}/api-keys/{id}/name': [
    {
      name: 'refused',
      ...owner,
      at: ({ shops }) => `${BASE}/api-keys/${shops.ordinary.key}/name`,
      sends: {
        to: ({ shops }) => `${BASE}/api-keys/${shops.ordinary.key}/name`,
        values: { name: 'Storefront' },
      },
    },
  ],
  '/s/{slug}/api-keys/{id}/rotate': [
    // Each visit makes another secret.
    {
      name: 'new secret',
      as: ownerOf('long'),
      at: ({ shops }) => `${shopPath(slugOf('long'))}/api-keys/${shops.long.key}/rotate`,
      sends: { to: ({ shops }) => `${shopPath(slugOf('long'))}/api-keys/${shops.long.key}/rotate` },
      status: 200,
    },
  ],
  '/s/{slug}/vendor-accounts': [
    {
      name: 'sync, open too long',
      ...owner,
      at: here('/vendor-accounts'),
      sends: { to: ({ shops }) => `${BASE}/vendor-accounts/${shops.ordinary.account}/sync`, old: true },
    },
  ],
  '/s/{slug}/vendor-accounts/new': [
    {
      name: 'refused',
      ...owner,
      at: here('/vendor-accounts/new'),
      sends: inShop('/vendor-accounts', { account_number: '1', secret: 'wrong' }),
    },
  ],
  '/s/{slug}/vendor-accounts/{id}/secret': [
    {
      name: 'refused',
      ...owner,
      at: ({ shops }) => `${BASE}/vendor-accounts/${shops.ordinary.account}/secret`,
      sends: {
        to: ({ shops }) => `${BASE}/vendor-accounts/${shops.ordinary.account}/secret`,
        values: { secret: 'wrong' },
      },
    },
  ],
  '/s/{slug}/sync-runs/{id}': [
    run('failed', 'ordinary'),
    run('withheld', 'ordinary'),
    run('running', 'ordinary'),
    run('listing', 'many'),
    run('queued', 'long'),
    run('unknown sizes', 'long'),
    {
      name: 'running already',
      ...owner,
      at: here('/vendor-accounts'),
      sends: { to: ({ shops }) => `${BASE}/vendor-accounts/${shops.ordinary.account}/sync` },
      status: 200,
    },
  ],
  '/s/{slug}/settings': [
    { name: 'refused', ...owner, at: here('/settings'), sends: inShop('/settings', { legal_name: '' }) },
    {
      name: 'saved meanwhile',
      ...owner,
      at: here('/settings'),
      sends: inShop('/settings', { legal_name: 'Harbor Print & Co', etag: '"another"' }),
    },
    { name: 'saved', ...owner, at: here('/settings'), sends: inShop('/settings'), status: 200 },
  ],
  '/s/{slug}/settings/second-factor': [
    { name: 'of somebody with an app', ...secured, at: open(POLICY) },
    { name: 'open too long', ...secured, at: open(POLICY), sends: old(POLICY) },
    {
      name: 'of somebody without an app, refused',
      ...asked,
      at: open(ASKED_POLICY),
      sends: sent(ASKED_POLICY, { require: 'everyone' }),
    },
  ],
  '/s/{slug}/audit-log': [
    { name: 'refused', ...owner, at: here('/audit-log?from=1700-01-01'), status: 422 },
    { name: 'not found', ...owner, at: here('/audit-log?who=zzz') },
    { name: 'of one person', ...owner, at: here('/audit-log?who=owner&sign_ins=shown') },
    {
      name: 'of too many people',
      as: ownerOf('many'),
      at: () => shopPath(slugOf('many'), '/audit-log?who=ann'),
      status: 422,
    },
  ],
}

/** What stands in the address of a page for `{id}`, by the part before it. */
const NAMED: Readonly<Record<string, (shop: Shop) => string | null>> = {
  'members/{id}': ({ member }) => member,
  'roles/{role}': ({ role }) => role,
  'vendor-accounts/{id}': ({ account }) => account,
  'sync-runs/{id}': ({ run }) => run,
  'api-keys/{id}': ({ key }) => key,
}

/** Returns the address of a page in a shop, or null if the shop has nothing of this kind. Throws for a kind that nobody made. */
function addressIn(view: string, shop: Shop): string | null {
  const path = view.replace('{slug}', shop.slug)
  const [named] = /[\w-]+\/\{\w+\}/.exec(path) ?? []
  if (named === undefined) return path
  const id = NAMED[named]
  if (id === undefined) throw new Error(`say in states/list.ts what ${named} of ${view} is`)
  const found = id(shop)
  return found === null ? null : path.replace(/\{\w+\}/, found)
}

export interface ListedState extends State {
  readonly view: string
}

/** Whether a page has a form that is sent to its own address. */
const sendsToItself = (view: string): boolean =>
  PAGES.some(({ method, path, form, again }) => method === 'POST' && path === view && form !== null && again !== null)

/** Every state of every page: those above, and each page of a shop in each shop. */
export function statesOf(made: Made): ListedState[] {
  const { shops } = made
  const own = Object.entries(OWN).flatMap(([view, states]) => states.map((state) => Object.assign({ view }, state)))
  const isRefused = (view: string): boolean =>
    own.some(({ sends, status }) => sends !== undefined && status !== 200 && addressPattern(view).test(sends.to(made)))
  const inShops = VIEWS.filter((view) => view.startsWith('/s/{slug}')).flatMap((view) =>
    SHOPS.flatMap((name): ListedState[] => {
      const address = addressIn(view, shops[name])
      if (address === null) return []
      const shown = { view, name, as: ownerOf(name), at: () => address }
      // A form that no line above refuses.
      return name === 'ordinary' && sendsToItself(view) && !isRefused(view)
        ? [shown, { ...shown, name: 'open too long', sends: old(address) }]
        : [shown]
    }),
  )
  return inShops.concat(own)
}
