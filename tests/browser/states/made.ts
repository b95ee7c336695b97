import postgres from 'postgres'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { createClient, ProblemError } from '#shared/client/client.ts'
import { linkIn, mailTo } from '../mailbox.ts'
import { signInByApi } from './people.ts'
import { addMember, addRun, ASKING, LONG, makeShops, ownerOf, type Shop, type ShopName, slugOf } from './shops.ts'

/** What the states name in their addresses. */
export interface Made {
  readonly shops: Readonly<Record<ShopName, Shop>>
  readonly runs: Readonly<Record<'queued' | 'listing' | 'running' | 'failed' | 'withheld' | 'unknown sizes', string>>
  readonly links: Readonly<Record<LinkName, string>>
  /** Memberships of the ordinary shop. */
  readonly members: Readonly<Record<'owner' | 'admin', string>>
  /** Of the person with an authenticator app. */
  readonly factor: string
}

const INVITED = {
  newcomer: 'newcomer@states.test',
  existing: 'none@states.test',
  accepted: 'joined@states.test',
} as const
type LinkName =
  | keyof typeof INVITED
  | 'reset'
  | 'long reset'
  | 'verify'
  | 'cancel'
  | 'long newcomer'
  | 'invalid reset'
  | 'invalid verify'
  | 'invalid cancel'
  | 'invalid invitation'

/** The person whose sign-ins are over the limit. */
export const LOCKED = 'locked@states.test'
const SHOPS_OF_ONE = 60

/** Makes everything that the states show: rows of the database, and what people do by the API. No visit of a state changes it. */
export async function make(stack: StackInfo): Promise<Made> {
  const sql = postgres(stack.database_url, { max: 2, onnotice: () => {} })
  try {
    const shops = await makeShops(sql, stack)
    await makePeople(sql)
    return {
      shops,
      runs: await makeRuns(sql, shops),
      links: await makeLinks(stack, sql),
      members: await ownIds(sql),
      factor: await factorId(sql, stack),
    }
  } finally {
    await sql.end()
  }
}

async function makePeople(sql: postgres.Sql): Promise<void> {
  const people = {
    none: 'Nora None',
    joined: 'Joe Joined',
    two: 'Tina Two',
    sixty: 'Sigrid Sixty',
    closed: 'Carl Closed',
    one: 'Otto One',
    lost: 'Lola Lost',
  }
  for (const [email, name] of Object.entries(people)) await addMember(sql, { email: `${email}@states.test`, name })
  await addMember(sql, { email: 'unverified@states.test', name: null, verified: false })
  await sql`
    insert into app.tenants (slug, legal_name, status, suspended_at)
    select 'shop-' || n, (array['Blue Mesa Graphics', 'Harbor Embroidery', 'Ünal Stickerei'])[1 + n % 3] || ' ' || n,
           case when n % 20 = 0 then 'suspended' when n % 7 = 0 then 'past_due' else 'active' end, case when n % 20 = 0 then now() end
      from generate_series(1, ${SHOPS_OF_ONE}::int) n`
  await sql`update app.tenants set second_factor_managers_from = now() + interval '9 days' where slug = ${ASKING}`
  const join = (email: string, slugs: readonly string[], role: string) => sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at, selected_at)
    select t.id, u.id, r.id, now(), case when t.slug in ('shop-3', 'shop-8', 'shop-41') then now() end
      from app.tenants t, app.users u, app.roles r
     where t.slug = any (${[...slugs]}) and u.email = ${email} and r.code = ${role} and r.tenant_id is null`
  const sixty = Array.from({ length: SHOPS_OF_ONE }, (_, at) => `shop-${at + 1}`)
  await join('sixty@states.test', sixty, 'admin')
  await join('closed@states.test', ['shop-20'], 'owner')
  await join('one@states.test', ['shop-1'], 'owner')
  await join('two@states.test', [slugOf('ordinary'), slugOf('empty'), 'shop-40'], 'sales')
  await join('lost@states.test', ['shop-2'], 'sales')
  // Nobody enters a code of this app.
  await sql`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    select gen_random_uuid(), id, 'totp', 'Authenticator app', gen_random_uuid(), sha256('lost'), sha256('lost'), 0
      from app.users where email = 'lost@states.test'`
  await sql`
    insert into app.sessions (token_key, user_id, csrf_secret, user_agent, created_at, idle_expires_at, absolute_expires_at)
    select sha256(n::text::bytea), u.id, sha256('csrf'), (array[
             'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
             'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
             'curl/8.5.0'])[1 + n % 3], now() - make_interval(hours => n), now() + interval '7 days', now() + interval '7 days'
      from app.users u, generate_series(1, 60) n where u.email = ${ownerOf('many')}`
}

/** Tries to sign in until the limit refuses it: its window may have ended since the last time. */
export async function lock({ gateway_url: baseUrl }: StackInfo): Promise<void> {
  const body = { email: LOCKED, password: `not ${SEED_PASSWORD}` }
  const status = () =>
    createClient({ baseUrl })
      .call('POST /v1/auth/login', { body })
      .then(
        () => 200,
        (error: unknown) => (error instanceof ProblemError ? error.status : null),
      )
  while ((await status()) === 401);
}

async function makeRuns(sql: postgres.Sql, shops: Made['shops']): Promise<Made['runs']> {
  const [ordinary, many, long] = [shops.ordinary.account ?? '', shops.many.account ?? '', shops.long.account ?? '']
  return {
    failed: await addRun(sql, ordinary, { status: 'failed', total: 320, read: 96, error: 'vendor-rejected' }),
    withheld: await addRun(sql, ordinary, { status: 'succeeded', total: 12, read: 12, withheld: 6104 }),
    'unknown sizes': await addRun(sql, long, {
      status: 'succeeded',
      total: 320,
      read: 320,
      unknown: ['2X-TALL', 'OSFA', LONG.account],
    }),
    running: await addRun(sql, ordinary, { status: 'running', total: 320, read: 96 }),
    listing: await addRun(sql, many, { status: 'running' }),
    queued: await addRun(sql, long, { status: 'queued' }),
  }
}

async function makeLinks(stack: StackInfo, sql: postgres.Sql): Promise<Made['links']> {
  const baseUrl = stack.gateway_url
  for (const email of ['one@states.test', LONG.email])
    await createClient({ baseUrl }).call('POST /v1/auth/password/forgot', { body: { email } })
  const { call } = await signInByApi(stack, 'unverified@states.test')
  await call('POST /v1/auth/verify/resend')
  const owner = await signInByApi(stack, ownerOf('ordinary'))
  for (const email of Object.values(INVITED))
    await owner.call('POST /v1/members/invite', { body: { email, role: 'sales' } })
  const newcomer = `newcomer.${LONG.email}`
  const long = await signInByApi(stack, ownerOf('long'))
  await long.call('POST /v1/members/invite', { body: { email: newcomer, role: 'own-1' } })
  const manager = await signInByApi(stack, 'sixty@states.test', 'shop-2')
  const [lost] = await sql<{ id: string }[]>`
    select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = 'lost@states.test'`
  await manager.call('POST /v1/members/{id}/factor-reset', { params: { id: lost?.id ?? '' } })
  const linkTo = async (email: string) => linkIn(await mailTo(stack, email))
  const accepted = await linkTo(INVITED.accepted)
  const token = new URL(accepted).searchParams.get('token') ?? ''
  await createClient({ baseUrl }).call('POST /v1/auth/invitations/accept', {
    body: { token, full_name: null, password: null },
  })
  const invalid = (path: string) => `${path}?token=${'x'.repeat(43)}`
  return {
    newcomer: await linkTo(INVITED.newcomer),
    existing: await linkTo(INVITED.existing),
    accepted,
    reset: await linkTo('one@states.test'),
    'long reset': await linkTo(LONG.email),
    verify: await linkTo('unverified@states.test'),
    cancel: await linkTo('lost@states.test'),
    'long newcomer': await linkTo(newcomer),
    'invalid reset': invalid('/reset-password'),
    'invalid verify': invalid('/verify-email'),
    'invalid cancel': invalid('/cancel-reset'),
    'invalid invitation': invalid('/invitation'),
  }
}

async function factorId(sql: postgres.Sql, { second_factor: { email } }: StackInfo): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    select f.id from app.factors f join app.users u on u.id = f.user_id where u.email = ${email}`
  return row?.id ?? ''
}

async function ownIds(sql: postgres.Sql): Promise<Made['members']> {
  const rows = await sql<{ id: string; code: 'owner' | 'admin' }[]>`
    select m.id, r.code from app.memberships m join app.tenants t on t.id = m.tenant_id join app.roles r on r.id = m.role_id
     where t.slug = ${slugOf('ordinary')} and r.code in ('owner', 'admin')`
  const idOf = (code: 'owner' | 'admin') => rows.find((row) => row.code === code)?.id ?? ''
  return { owner: idOf('owner'), admin: idOf('admin') }
}
