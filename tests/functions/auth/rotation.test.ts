import { deliverDueMail } from '#functions/workers/deliver-mail/deliver.ts'
import { type Gateway, startGateway } from '#infra/local/gateway/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { SqlValue } from '#shared/db/run.ts'
import { lambda } from '#shared/http/lambda.ts'
import { newToken, hashToken } from '#shared/secret/secret.ts'
import type { TokenSecrets } from '#shared/secret/token-secrets.ts'
import { authenticate } from '#shared/identity/session-queries.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createMember } from '#tests/support/minted-session.ts'
import { MAIL_KEY, PASSWORD, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const EVERY_USE = { idleSeconds: 60, slideStepSeconds: 0 }

const NEXT_PEPPER = 'the next pepper of the tests'
const NEXT_MAIL_KEY = 'the next mail key of the tests'

// The steps of a rotation, in order.
const BEFORE: TokenSecrets = { pepper: PEPPER, mailKey: MAIL_KEY }
const ACCEPTED: TokenSecrets = { ...BEFORE, pepperPrevious: NEXT_PEPPER, mailKeyPrevious: NEXT_MAIL_KEY }
const CHANGED: TokenSecrets = {
  pepper: NEXT_PEPPER,
  pepperPrevious: PEPPER,
  mailKey: NEXT_MAIL_KEY,
  mailKeyPrevious: MAIL_KEY,
}
const AFTER: TokenSecrets = { pepper: NEXT_PEPPER, mailKey: NEXT_MAIL_KEY }
const ALL = [BEFORE, ACCEPTED, CHANGED, AFTER]
// The pepper is changed, the mail key is not yet.
const BETWEEN: TokenSecrets = { ...ACCEPTED, pepper: NEXT_PEPPER, pepperPrevious: PEPPER }

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000' } })
const gateways = new Map<TokenSecrets, Gateway>()
let people = 0

/** Starts a gateway for each step; all share one database. */
beforeAll(async () => {
  const groups = await routeGroups()
  for (const secrets of [...ALL, BETWEEN]) {
    const integrations = groups.map(({ group }) => {
      const { authRuntime, runtime: others } = service
      const { pepper: _pepper, mailKey: _mailKey, ...rest } = group.name === 'auth' ? authRuntime : others
      const runtime = { ...rest, ...secrets }
      const handle = lambda(group, { config: runtime.config, open: async () => runtime })
      return { group, invoke: (event: Parameters<typeof handle>[0]) => handle(event, lambdaContext) }
    })
    gateways.set(
      secrets,
      await startGateway({ port: 0, problemBaseUrl: service.runtime.config.problemBaseUrl, integrations }),
    )
  }
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
})

async function ask(secrets: TokenSecrets, route: string, { token, body }: { token?: string; body?: unknown } = {}) {
  const [method = 'GET', path = '/'] = route.split(' ')
  const response = await fetch(`${gateways.get(secrets)?.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

/** Delivers due mail with the secrets of a step. */
async function deliver(secrets: TokenSecrets): Promise<void> {
  const { config, database } = service.mail.mailer
  await deliverDueMail({ config, database, ...secrets }, service.mail.ses, () => false)
}
/** Restores the state of a mailer that died after sending and before completing its jobs. */
const forgetDelivery = () => service.sql`update app.jobs set completed_at = null, leased_until = null, run_at = now()`

async function person() {
  people += 1
  const email = `person${people}@rotation.test`
  return { email, ...(await createMember(service.sql, { email, role: 'admin', slug: 'acme-print' })) }
}

async function signIn(secrets: TokenSecrets, email: string): Promise<string> {
  const [owner] = await service.sql`select password_hash from app.users where email = 'owner@acme.test'`
  await service.sql`update app.users set password_hash = ${owner?.['password_hash']} where email = ${email}`
  const { status, body } = await ask(secrets, 'POST /v1/auth/login', { body: { email, password: PASSWORD } })
  expect(status).toBe(200)
  return body.token
}

const session = async (secrets: TokenSecrets, token: string) =>
  (await ask(secrets, 'GET /v1/auth/session', { token })).status

describe('sessions during a pepper rotation', () => {
  it.each([
    ['created before the change', BEFORE, [200, 200, 200, 401]],
    ['created while the next pepper is accepted', ACCEPTED, [200, 200, 200, 401]],
    ['created after the change', CHANGED, [401, 200, 200, 200]],
    ['created after the removal of the previous pepper', AFTER, [401, 200, 200, 200]],
  ] as const)('accepts a session %s exactly at the steps that know its pepper', async (_what, madeAt, statuses) => {
    const { email } = await person()
    const token = await signIn(madeAt, email)
    const [row] = await service.sql`
      select s.token_key from app.sessions s join app.users u on u.id = s.user_id
       where u.email = ${email} order by s.created_at desc limit 1`
    expect(row?.['token_key']).toEqual(hashToken(madeAt.pepper, token))
    expect(await Promise.all(ALL.map((secrets) => session(secrets, token)))).toEqual(statuses)
  })

  it('lets a session under the previous pepper select a tenant, write, slide and end', async () => {
    const { email } = await person()
    const token = await signIn(BEFORE, email)
    const [tenant] = await service.sql`select id from app.tenants where slug = 'acme-print'`
    expect((await ask(CHANGED, `POST /v1/auth/tenants/${tenant?.['id']}/select`, { token })).status).toBe(200)
    const invite = { email: `new.${email}`, role: 'viewer' }
    expect((await ask(CHANGED, 'POST /v1/members/invite', { token, body: invite })).status).toBe(200)
    const key = hashToken(PEPPER, token)
    await service.sql`update app.sessions set idle_expires_at = now() + interval '1 minute' where token_key = ${key}`
    expect(await session(CHANGED, token)).toBe(200)
    const [slid] = await service.sql`
      select idle_expires_at > now() + interval '2 minutes' as yes from app.sessions where token_key = ${key}`
    expect(slid?.['yes']).toBe(true)
    expect((await ask(CHANGED, 'DELETE /v1/auth/session', { token })).status).toBe(204)
    for (const secrets of ALL) expect(await session(secrets, token)).toBe(401)
  })

  it('rejects an expired or unknown session token under both peppers', async () => {
    const { email } = await person()
    const token = await signIn(BEFORE, email)
    await service.sql`update app.sessions set idle_expires_at = now() where token_key = ${hashToken(PEPPER, token)}`
    expect(await session(CHANGED, token)).toBe(401)
    expect(await session(CHANGED, newToken())).toBe(401)
  })
})

describe('links during a rotation of pepper and mail key', () => {
  const NEW_PASSWORD = 'a passphrase of the rotation'
  const resetLink = async (email: string, secrets: TokenSecrets) => {
    expect((await ask(secrets, 'POST /v1/auth/password/forgot', { body: { email } })).status).toBe(204)
    await deliver(secrets)
    return tokenIn(service.mail.to(email)[0])
  }
  const reset = async (secrets: TokenSecrets, token: string) =>
    (await ask(secrets, 'POST /v1/auth/password/reset', { body: { token, password: NEW_PASSWORD } })).status

  it('accepts a password reset link of the previous pepper once, until that pepper is removed', async () => {
    const { email } = await person()
    const token = await resetLink(email, BEFORE)
    expect(await reset(AFTER, token)).toBe(400)
    expect(await reset(CHANGED, token)).toBe(204)
    const login = { body: { email, password: NEW_PASSWORD } }
    expect((await ask(CHANGED, 'POST /v1/auth/login', login)).status).toBe(200)
    const [row] = await service.sql`select consumed_at from app.tokens where token_hash = ${hashToken(PEPPER, token)}`
    expect(row?.['consumed_at']).toBeInstanceOf(Date)
  })

  it('stores tokens mailed after the change under the next pepper only', async () => {
    const { email } = await person()
    const token = await resetLink(email, CHANGED)
    expect(await service.sql`select from app.tokens where token_hash = ${hashToken(NEXT_PEPPER, token)}`).toHaveLength(
      1,
    )
    expect(await reset(BEFORE, token)).toBe(400)
    expect(await reset(ACCEPTED, token)).toBe(204)
  })

  it.each([
    ['under the previous keys and mailed after the change', BEFORE, CHANGED],
    ['after the change and mailed by an instance that only accepts the new keys', CHANGED, ACCEPTED],
    ['between the two changes and mailed after both', BETWEEN, CHANGED],
  ] as const)('opens the invitation link of an invitation made %s', async (_what, made, mailed) => {
    const { token } = await person()
    const email = `guest${people}@rotation.test`
    expect((await ask(made, 'POST /v1/members/invite', { token, body: { email, role: 'viewer' } })).status).toBe(200)
    await deliver(mailed)
    const link = tokenIn(service.mail.to(email)[0])
    expect((await ask(CHANGED, 'POST /v1/auth/invitations/inspect', { body: { token: link } })).status).toBe(200)
    const accept = { body: { token: link, password: NEW_PASSWORD } }
    expect((await ask(CHANGED, 'POST /v1/auth/invitations/accept', accept)).status).toBe(200)
  })

  it.each(['forgot', 'verify'] as const)(
    'sends the same link again when the mailer dies during a rotation (%s)',
    async (kind) => {
      const { email, token } = await person()
      const route = kind === 'forgot' ? 'POST /v1/auth/password/forgot' : 'POST /v1/auth/verify/resend'
      await ask(BEFORE, route, kind === 'forgot' ? { body: { email } } : { token })
      await deliver(BEFORE)
      for (const secrets of [ACCEPTED, CHANGED]) {
        await forgetDelivery()
        await deliver(secrets)
      }
      const messages = service.mail.to(email)
      expect(messages.length).toBeGreaterThanOrEqual(3)
      expect(new Set(messages.map(tokenIn)).size).toBe(1)
      const [stored] = await service.sql`
      select count(*)::int as tokens from app.tokens t join app.users u on u.id = t.user_id where u.email = ${email}`
      expect(stored?.['tokens']).toBe(1)
    },
  )
})

describe('two active peppers', () => {
  it('hashes addresses and counts limits with the current pepper only', async () => {
    const { email } = await person()
    const count = async () =>
      (await service.sql`select key from app.rate_limits order by key`).map(({ key }) => String(key))
    await service.sql`delete from app.rate_limits`
    await ask(BEFORE, 'POST /v1/auth/login', { body: { email, password: 'wrong wrong wrong' } })
    const before = await count()
    await ask(ACCEPTED, 'POST /v1/auth/login', { body: { email, password: 'wrong wrong wrong' } })
    expect(await count()).toEqual(before)
    await ask(CHANGED, 'POST /v1/auth/login', { body: { email, password: 'wrong wrong wrong' } })
    const during = await count()
    // The database counts guesses for an address under a key of its own.
    expect(during).toHaveLength(before.length * 2 - 1)
    await ask(AFTER, 'POST /v1/auth/login', { body: { email, password: 'wrong wrong wrong' } })
    expect(await count()).toEqual(during)
  })

  it('finds tokens by index and checks the previous pepper only when the current one finds no session', async () => {
    const { token } = await person()
    let plan = ''
    /** Explains each statement instead of running it. */
    const run = async (text: TemplateStringsArray, ...values: readonly SqlValue[]) => {
      const statement = text.reduce((all, part, at) => `${all}$${at}${part}`)
      const rows = await service.sql.unsafe(`explain (analyze, costs off, timing off) ${statement}`, [...values])
      plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
      return []
    }
    const explain: Sql = Object.assign(run, { invoking: () => explain })
    await service.sql`
      insert into app.tokens (token_hash, purpose, user_id, expires_at)
      select sha256(n::text::bytea), 'password_reset', (select id from app.users limit 1), now()
        from generate_series(1, 20000) as n`
    await service.sql`analyze app.tokens`
    const present = hashToken(PEPPER, token)
    const other = hashToken(NEXT_PEPPER, token)
    // The server adds what earlier transactions of the connection did, up to a second later.
    const scanned = await service.sql.begin(async (tx) => {
      const scans = () => tx`select seq_scan from pg_stat_xact_user_tables where relname = 'tokens'`
      const before = [...(await scans())]
      await tx`select from app.find_invitation(${present}, ${other})`
      return { before, after: [...(await scans())] }
    })
    expect(scanned.after).toEqual(scanned.before)
    await authenticate(explain, [present, other], EVERY_USE)
    expect(plan.match(/Function Scan on authenticate/g)).toHaveLength(2)
    expect(plan).toMatch(/Function Scan on authenticate \(never executed\)/)
    await authenticate(explain, [other, present], EVERY_USE)
    expect(plan).not.toContain('never executed')
    await authenticate(explain, [present, null], EVERY_USE)
    expect(plan.match(/Function Scan on authenticate/g)).toHaveLength(1)
  })
})
