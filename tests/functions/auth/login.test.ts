import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { CHALLENGE_HEADER, indistinguishable } from '#tests/support/expect-answer.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { rawRequest } from '#tests/support/raw-http.ts'
import { type Answer, PASSWORD, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const COST = { memoryKib: 64, iterations: 1 }
const RFC3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const service = useService()

const login = (email: string, password = PASSWORD, headers: Record<string, string> = {}): Promise<Answer> =>
  service.request('POST /v1/auth/login', { body: { email, password }, headers })

const sessionRow = async (id: string): Promise<any> => {
  const [row] = await service.sql`select * from app.sessions where id = ${id}`
  return row
}

/** Creates a user with this password hash. */
async function personWithHash(email: string, passwordHash: string | null): Promise<void> {
  await createUser(service.sql, { email })
  await service.sql`update app.users set password_hash = ${passwordHash} where email = ${email}`
}

const storedHash = async (email: string): Promise<string> => {
  const [row] = await service.sql`select password_hash from app.users where email = ${email}`
  return row?.['password_hash']
}

describe('a successful login', () => {
  it('returns exactly the token, the session and the user after a login', async () => {
    const { status, body, headers } = await login('sales@acme.test')
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['token', 'token_type', 'csrf_token', 'session', 'user'])
    expect(body.token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(body.token_type).toBe('Bearer')
    expect(Object.keys(body.session).toSorted()).toEqual([
      'absolute_expires_at',
      'id',
      'idle_expires_at',
      'second_factor_at',
      'stepped_up_at',
    ])
    expect(Object.keys(body.user).toSorted()).toEqual(['avatar_url', 'email', 'email_verified_at', 'full_name', 'id'])
    expect(body.user).toMatchObject({ email: 'sales@acme.test', full_name: 'Sales Acme', avatar_url: null })
    for (const time of [body.session.idle_expires_at, body.session.absolute_expires_at, body.user.email_verified_at]) {
      expect(time).toMatch(RFC3339_UTC)
    }
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-tenant-id')).toBeNull()
  })

  it('creates a session without a tenant that idles for 15 minutes and lives for 7 days', async () => {
    const { body } = await login('sales@acme.test')
    const row = await sessionRow(body.session.id)
    expect(row).toMatchObject({ tenant_id: null, revoked_at: null })
    expect(row.idle_expires_at - row.created_at).toBe(15 * 60 * 1000)
    expect(row.absolute_expires_at - row.created_at).toBe(7 * 86_400 * 1000)
    expect(row.idle_expires_at.toISOString()).toBe(body.session.idle_expires_at)
    expect(row.absolute_expires_at.toISOString()).toBe(body.session.absolute_expires_at)
  })

  it('returns no token for a session that is not committed', async () => {
    const { admin } = service.database
    await admin`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`
    await admin`
      create constraint trigger refused after insert on app.sessions deferrable initially deferred
        for each row execute function public.refuse()`
    const { status, body } = await login('owner@bolt.test')
    await admin`drop function public.refuse cascade`
    expect([status, body.token]).toEqual([500, undefined])
    expect((await login('owner@bolt.test')).status).toBe(200)
  })

  it('finds the user by email in any case and returns the stored spelling', async () => {
    for (const email of ['SALES@ACME.TEST', 'Sales@Acme.Test', 'sales@acme.test']) {
      expect((await login(email)).body.user.email).toBe('sales@acme.test')
    }
  })

  it('records the time of the last successful login', async () => {
    const { admin } = service.database
    await admin`update app.users set last_login_at = null where email = 'designer@acme.test'`
    await login('designer@acme.test', 'a wrong password')
    const [before] = await admin`select last_login_at from app.users where email = 'designer@acme.test'`
    expect(before?.['last_login_at']).toBeNull()
    await login('designer@acme.test')
    const [after] = await admin`
      select now() - last_login_at < interval '1 minute' as recent from app.users where email = 'designer@acme.test'`
    expect(after?.['recent']).toBe(true)
  })

  it('stores a session token only as SHA-256 of the pepper and the token', async () => {
    const { body } = await login('sales@acme.test')
    const row = await sessionRow(body.session.id)
    expect(row.token_key.equals(createHash('sha256').update(PEPPER).update(body.token).digest())).toBe(true)
    const [{ text } = { text: '' }] = await service.sql<{ text: string }[]>`
      select string_agg(to_jsonb(s)::text, '') as text from app.sessions s`
    expect(text).not.toContain(body.token)
    expect(text).not.toContain(Buffer.from(body.token).toString('hex'))
    expect(text).not.toContain(Buffer.from(body.token, 'base64url').toString('hex'))
  })

  it('stores 32 bytes of CSRF secret and returns only a token derived from it', async () => {
    const [first, second] = [await login('sales@acme.test'), await login('sales@acme.test')]
    const row = await sessionRow(first.body.session.id)
    expect(row.csrf_secret).toHaveLength(32)
    const shown = Buffer.from(first.body.csrf_token, 'base64url')
    expect(shown).toHaveLength(32)
    expect(shown.equals(row.csrf_secret)).toBe(false)
    const made = createHash('sha256').update(row.csrf_secret).update(first.body.session.id).digest('base64url')
    expect(first.body.csrf_token).toBe(made)
    expect(first.body.csrf_token).not.toBe(first.body.token)
    expect(second.body.csrf_token).not.toBe(first.body.csrf_token)
    expect((await sessionRow(second.body.session.id)).csrf_secret.equals(row.csrf_secret)).toBe(false)
  })

  it('stores the client address only as a keyed hash', async () => {
    const { body } = await login('sales@acme.test')
    const { ip_hash: hash } = await sessionRow(body.session.id)
    expect(hash).toHaveLength(32)
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) {
      for (const algorithm of ['sha256', 'sha3-256', 'sha512-256', 'blake2s256']) {
        expect(hash.equals(createHash(algorithm).update(address).digest())).toBe(false)
      }
      expect(hash.equals(hashToken('', address))).toBe(false)
    }
    const again = await login('sales@acme.test')
    expect((await sessionRow(again.body.session.id)).ip_hash.equals(hash)).toBe(true)
  })

  it('stores 512 characters of the user agent, or null when there is none', async () => {
    const agent = `Tester/1.0 ${'x'.repeat(600)}`
    const long = await login('sales@acme.test', PASSWORD, { 'user-agent': agent })
    expect((await sessionRow(long.body.session.id)).user_agent).toBe(agent.slice(0, 512))
    const bare = await rawRequest(service.gateway.url, {
      method: 'POST',
      path: '/v1/auth/login',
      headers: ['content-type', 'application/json'],
      body: JSON.stringify({ email: 'sales@acme.test', password: PASSWORD }),
    })
    expect((await sessionRow(JSON.parse(bare.text).session.id)).user_agent).toBeNull()
  })

  it('creates a new token at each login, also when any token is sent', async () => {
    const tokens = new Set()
    for (const authorization of ['', `Bearer ${newToken()}`, 'Bearer x', `Basic ${newToken()}`]) {
      const { status, body } = await login('viewer@bolt.test', PASSWORD, { authorization })
      expect(status).toBe(200)
      expect(tokens).not.toContain(body.token)
      tokens.add(body.token)
      const who = await service.request('GET /v1/auth/session', { token: body.token })
      expect(who.body).toMatchObject({ user: { email: 'viewer@bolt.test' }, tenant: null })
    }
  })

  it.each(['viewer@bolt.test', 'owner@acme.test'])(
    'ends the live session whose token is sent with a login, of %s, and audits that in its tenant',
    async (email) => {
      const slug = email.endsWith('bolt.test') ? 'bolt-apparel' : 'acme-print'
      const sent = await mintSession(service.sql, { email, slug })
      const other = await mintSession(service.sql, { email, slug })
      const { status } = await login('viewer@bolt.test', PASSWORD, { authorization: `Bearer ${sent.token}` })
      expect(status).toBe(200)
      const statusOf = async ({ token }: { token: string }) =>
        (await service.request('GET /v1/auth/session', { token })).status
      expect([await statusOf(sent), await statusOf(other)]).toEqual([401, 200])
      const entries = await service.sql`
        select t.slug, u.email, a.action from app.audit_log a
          join app.tenants t on t.id = a.tenant_id join app.users u on u.id = a.actor_user_id
         where a.target_id = ${sent.id}`
      expect([...entries]).toEqual([{ slug, email, action: 'session.revoked' }])
    },
  )

  it('ends no session at a failed login, and gives it the same response', async () => {
    const sent = await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })
    const failed = await login('owner@acme.test', 'another wrong password')
    expect(failed.status).toBe(401)
    for (const token of [sent.token, newToken()]) {
      const answer = await login('owner@acme.test', 'another wrong password', { authorization: `Bearer ${token}` })
      expect(indistinguishable(answer)).toEqual(indistinguishable(failed))
    }
    expect((await service.request('GET /v1/auth/session', { token: sent.token })).status).toBe(200)
  })

  it('compares passwords exactly, except for forms that NFKC normalises to the same text', async () => {
    await personWithHash('exact@login.test', await hashPassword('Ångström trail ', COST))
    for (const same of ['Ångström trail ', 'Ångström trail '.normalize('NFD'), 'Ångström trail\u00a0']) {
      expect((await login('exact@login.test', same)).status, same).toBe(200)
    }
    for (const other of [
      'Ångström trail',
      'ångström trail ',
      ' Ångström trail ',
      'Angstrom trail ',
      'Ångström trail \0',
    ]) {
      expect((await login('exact@login.test', other)).status, other).toBe(401)
    }
    const long = 'x'.repeat(127)
    await personWithHash('long@login.test', await hashPassword(`${long}a`, COST))
    expect((await login('long@login.test', `${long}a`)).status).toBe(200)
    expect((await login('long@login.test', `${long}b`)).status).toBe(401)
  })
})

describe('the stored password hash', () => {
  it('rehashes a password at login only when the cost settings have changed', async () => {
    for (const cost of [
      { memoryKib: 128, iterations: 1 },
      { memoryKib: 64, iterations: 2 },
      { memoryKib: 8, iterations: 1 },
    ]) {
      const email = `rehash${cost.memoryKib}-${cost.iterations}@login.test`
      const old = await hashPassword(PASSWORD, cost)
      await personWithHash(email, old)
      expect((await login(email, 'a wrong password')).status).toBe(401)
      expect(await storedHash(email)).toBe(old)
      expect((await login(email)).status).toBe(200)
      const fresh = await storedHash(email)
      expect(fresh).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
      expect((await login(email)).status).toBe(200)
      expect(await storedHash(email)).toBe(fresh)
    }
  })

  it('returns 401 for an unusable or unaffordable password hash and keeps serving', async () => {
    const [, , , , salt = '', tag = ''] = (await hashPassword(PASSWORD, COST)).split('$')
    const unusable = [
      `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=1000,p=1$${salt}$${tag}`,
      `$argon2i$v=19$m=64,t=1,p=1$${salt}$${tag}`,
      '$2b$12$C6UzMDM.H6dfI/f/IKcEeO7kVYdFm0hQSbJ0pVbFm9Jvd7Wl5Q1iW',
      PASSWORD,
      '',
      null,
    ]
    for (const [index, hash] of unusable.entries()) {
      const email = `unusable${index}@login.test`
      await personWithHash(email, hash)
      expect((await login(email)).status, `${hash}`.slice(0, 60)).toBe(401)
      expect(await storedHash(email)).toBe(hash)
    }
    expect((await login('sales@acme.test')).status).toBe(200)
  })
})

describe('a failed login', () => {
  it('returns the same status, bytes and headers for every cause of a failed login', async () => {
    const { admin } = service.database
    await personWithHash('disabled@login.test', await hashPassword(PASSWORD, COST))
    await admin`update app.users set disabled_at = now() where email = 'disabled@login.test'`
    await personWithHash('no-password@login.test', null)
    await personWithHash('outdated@login.test', await hashPassword(PASSWORD, { memoryKib: 8, iterations: 1 }))
    const { email: withApp } = await newFactorUser(service)
    const unknown = await login('unknown@login.test')
    expect(unknown.status).toBe(401)
    expect(unknown.headers.get(CHALLENGE_HEADER)).toBe('Bearer realm="api"')
    expect(unknown.body).not.toHaveProperty('detail')
    const causes: Record<string, Promise<Answer>> = {
      'a wrong password': login('sales@acme.test', 'a wrong password'),
      'a wrong password of an unknown address': login('unknown@login.test', 'a wrong password'),
      'a disabled user with the right password': login('disabled@login.test'),
      'a disabled user with a wrong one': login('disabled@login.test', 'a wrong password'),
      'no password': login('no-password@login.test'),
      'a wrong password of a user with an app': login(withApp, 'a wrong password'),
      'a hash of another cost': login('outdated@login.test', 'a wrong password'),
      'a member of no tenant with a wrong password': login('nobody@shops.test', 'a wrong password'),
    }
    for (const [cause, answer] of Object.entries(causes)) {
      expect(indistinguishable(await answer), cause).toEqual(indistinguishable(unknown))
    }
  })

  it('creates no session after a failed login', async () => {
    const { admin } = service.database
    const [before] = await admin`select count(*)::int as sessions from app.sessions`
    for (const email of ['sales@acme.test', 'unknown@login.test', 'disabled@login.test', 'no-password@login.test']) {
      expect((await login(email, 'a wrong password')).status).toBe(401)
    }
    const [after] = await admin`select count(*)::int as sessions from app.sessions`
    expect(after).toEqual(before)
  })

  it('rejects emails that only look like a known one', async () => {
    // Full-width at sign, long s, Kelvin sign, trailing dot or space, plus tag, quotes, comment, umlaut.
    for (const email of [
      'sales＠acme.test',
      'sales@acme\u3002test',
      'ſales@acme.test',
      'sales@aCme.test\u212a',
      'sales@acme.test.',
      ' sales@acme.test',
      'sales@acme.test ',
      'sales+x@acme.test',
      '"sales"@acme.test',
      'sales(x)@acme.test',
      'säles@acme.test',
    ]) {
      expect([401, 422], email).toContain((await login(email)).status)
    }
  })
})

describe('a login that loses a race', () => {
  it('creates no session when the user is disabled while the password is verified', async () => {
    const { admin } = service.database
    const email = 'raced@login.test'
    await personWithHash(email, await hashPassword(PASSWORD, COST))
    // Locks the row while the password is verified, and disables the user before the session is created.
    const { pending } = await admin.begin(async (tx) => {
      await tx`update app.users set disabled_at = now() where email = ${email}`
      const attempt = login(email)
      await expect
        .poll(
          () => admin`
            select 1 from pg_locks l join pg_stat_activity a on a.pid = l.pid
             where not l.granted and a.datname = ${service.database.name}`,
        )
        .toHaveLength(1)
      return { pending: attempt }
    })
    expect((await pending).status).toBe(401)
    const [row] = await admin`
      select count(*)::int as sessions from app.sessions s join app.users u on u.id = s.user_id where u.email = ${email}`
    expect(row?.['sessions']).toBe(0)
  })
})
