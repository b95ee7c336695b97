import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { indistinguishable } from '#tests/support/expect-answer.ts'
import { createUser, createTenant, type MintedSession, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let email: string
let people = 0
beforeEach(async () => {
  people += 1
  email = `person${people}@sessions.test`
  await createUser(service.sql, { email, slugs: ['acme-print', 'bolt-apparel'] })
})

const mint = (slug: string | null = null): Promise<MintedSession> => mintSession(service.sql, { email, slug })
const isLive = async ({ token }: MintedSession): Promise<boolean> =>
  (await service.request('GET /v1/auth/session', { token })).status === 200
const list = async ({ token }: MintedSession): Promise<any[]> => {
  const { status, body } = await service.request('GET /v1/auth/sessions', { token })
  expect(status).toBe(200)
  expect(Object.keys(body)).toEqual(['data', 'next_cursor'])
  return body.data
}
const ids = (sessions: readonly { id: string }[]): string[] => sessions.map(({ id }) => id).toSorted()

describe('GET /v1/auth/sessions', () => {
  it('lists the caller’s live sessions with their tenants and marks the current one', async () => {
    const [pending, acme, bolt] = [await mint(), await mint('acme-print'), await mint('bolt-apparel')]
    await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })
    for (const asking of [pending, acme, bolt]) {
      const data = await list(asking)
      expect(ids(data)).toEqual(ids([pending, acme, bolt]))
      expect(data.filter(({ current }) => current).map(({ id }) => id)).toEqual([asking.id])
      expect(data.every(({ current }) => typeof current === 'boolean')).toBe(true)
    }
    const data = await list(pending)
    expect(data.find(({ id }) => id === pending.id).tenant).toBeNull()
    const { body } = await service.request('GET /v1/auth/session', { token: acme.token })
    expect(data.find(({ id }) => id === acme.id).tenant).toEqual(body.tenant)
  })

  it('shows no token, hash or address of a session', async () => {
    const [asking] = [await mint('acme-print'), await mint()]
    const answer = await service.request('GET /v1/auth/sessions', { token: asking.token })
    for (const session of answer.body.data) {
      expect(Object.keys(session).toSorted().join()).toBe(
        'created_at,current,id,last_seen_at,second_factor,tenant,user_agent',
      )
      for (const time of [session.created_at, session.last_seen_at]) {
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }
      expect(session.user_agent).toBe('a test')
    }
    expect(answer.text).not.toContain(asking.token)
    const rows = await service.sql<{ token_key: Buffer; csrf_secret: Buffer; ip_hash: Buffer }[]>`
      select token_key, csrf_secret, ip_hash from app.sessions`
    for (const secret of rows.flatMap((row) => [row.token_key, row.csrf_secret, row.ip_hash])) {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        expect(answer.text.includes(secret.toString(encoding))).toBe(false)
      }
    }
  })

  it('lists the sessions page by page, newest first', async () => {
    const minted: MintedSession[] = []
    for (let index = 0; index < 5; index += 1) minted.push(await mint())
    const asking = await mint('acme-print')
    const seen: string[] = []
    let cursor = ''
    do {
      const { status, body } = await service.request(`GET /v1/auth/sessions?limit=2${cursor}`, { token: asking.token })
      expect(status).toBe(200)
      expect(body.data).toHaveLength(2)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(seen).toEqual([asking, ...minted.toReversed()].map(({ id }) => id))
  })

  it('omits ended sessions from the list', async () => {
    const asking = await mint()
    const [revoked, idle, absolute] = [await mint(), await mint('acme-print'), await mint('acme-print')]
    await service.sql`update app.sessions set revoked_at = now() where id = ${revoked.id}`
    await service.sql`update app.sessions set idle_expires_at = now() where id = ${idle.id}`
    await service.sql`update app.sessions set absolute_expires_at = now() where id = ${absolute.id}`
    expect(ids(await list(asking))).toEqual([asking.id])
  })

  it('omits sessions whose tenant is closed or whose membership is revoked', async () => {
    const asking = await mint()
    await createTenant(service.sql, `closed-${people}`)
    await createTenant(service.sql, `left-${people}`)
    await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, u.id, 1, now() from app.tenants t, app.users u
       where u.email = ${email} and t.slug in (${`closed-${people}`}, ${`left-${people}`})`
    const [closed, left] = [await mint(`closed-${people}`), await mint(`left-${people}`)]
    expect(ids(await list(asking))).toEqual(ids([asking, closed, left]))
    await service.sql`update app.tenants set status = 'suspended' where slug = ${`closed-${people}`}`
    await service.sql`
      update app.memberships m set revoked_at = now() from app.tenants t
       where t.id = m.tenant_id and t.slug = ${`left-${people}`}
         and m.user_id = (select id from app.users where email = ${email})`
    expect(await isLive(closed)).toBe(false)
    expect(await isLive(left)).toBe(false)
    expect(ids(await list(asking))).toEqual([asking.id])
  })
})

describe('DELETE /v1/auth/sessions/{id}', () => {
  const revoke = ({ token }: MintedSession, id: string) => service.request(`DELETE /v1/auth/sessions/${id}`, { token })

  it('ends one other session of the caller in any tenant', async () => {
    const [asking, ended, kept] = [await mint('acme-print'), await mint('bolt-apparel'), await mint('bolt-apparel')]
    const answer = await revoke(asking, ended.id)
    expect(answer.status).toBe(204)
    expect(answer.text).toBe('')
    expect(await isLive(ended)).toBe(false)
    expect(await isLive(kept)).toBe(true)
    expect(await isLive(asking)).toBe(true)
    expect(ids(await list(asking))).toEqual(ids([asking, kept]))
  })

  it('ends the calling session when its own id is given', async () => {
    const asking = await mint()
    expect((await revoke(asking, asking.id)).status).toBe(204)
    expect(await isLive(asking)).toBe(false)
  })

  it('returns the same 404 for another user’s session as for an unknown one, and keeps it alive', async () => {
    const asking = await mint('acme-print')
    const colleague = await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })
    const stranger = await mintSession(service.sql, { email: 'owner@bolt.test', slug: 'bolt-apparel' })
    const unknown = await revoke(asking, randomUUID())
    expect(unknown.status).toBe(404)
    for (const other of [colleague, stranger]) {
      expect(indistinguishable(await revoke(asking, other.id))).toEqual(indistinguishable(unknown))
      expect(await isLive(other)).toBe(true)
    }
  })

  it('returns 404 for a session of the caller that has already ended', async () => {
    const [asking, revoked, idle, absolute] = [await mint(), await mint(), await mint(), await mint()]
    await service.sql`update app.sessions set revoked_at = now() - interval '1 hour' where id = ${revoked.id}`
    await service.sql`update app.sessions set idle_expires_at = now() where id = ${idle.id}`
    await service.sql`update app.sessions set absolute_expires_at = now() where id = ${absolute.id}`
    const before = await service.sql`select id, revoked_at from app.sessions order by id`
    for (const { id } of [revoked, idle, absolute]) expect((await revoke(asking, id)).status).toBe(404)
    expect(await service.sql`select id, revoked_at from app.sessions order by id`).toEqual(before)
  })
})

describe('the limit on live sessions of a user', () => {
  const limited = useService({ env: { SESSION_MAX_PER_USER: '3' } })
  const signIn = async () => {
    const body = { email: 'both@shops.test', password: PASSWORD }
    const { body: reply } = await limited.request('POST /v1/auth/login', { body })
    return reply
  }
  const live = async () => {
    const rows = await limited.sql<{ id: string }[]>`
      select s.id from app.sessions s join app.users u on u.id = s.user_id
       where u.email = 'both@shops.test' and s.revoked_at is null order by s.last_seen_at`
    return rows.map(({ id }) => id)
  }

  it('ends the longest unused session at a login above it, and audits that', async () => {
    const [first, second, third] = [await signIn(), await signIn(), await signIn()]
    const acme = await tenantId(limited.sql, 'acme-print')
    for (const { token } of [second, first]) await limited.request(`POST /v1/auth/tenants/${acme}/select`, { token })
    await limited.sql`update app.sessions set last_seen_at = last_seen_at - interval '1 hour' where id = ${second.session.id}`
    const newest = await signIn()
    expect(await live()).toEqual([third, first, newest].map(({ session }) => session.id))
    const entries = await limited.sql`
      select tenant_id, target_id, after from app.audit_log where action = 'session.revoked'`
    expect(entries).toEqual([{ tenant_id: acme, target_id: second.session.id, after: { reason: 'too many sessions' } }])
  })

  it('leaves no more sessions than allowed after concurrent logins', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => signIn()))
    expect(replies.every(({ token }) => typeof token === 'string')).toBe(true)
    expect(await live()).toHaveLength(3)
  })

  it('does not count sessions that have expired', async () => {
    const kept = await signIn()
    await limited.sql`update app.sessions set idle_expires_at = now() where id <> ${kept.session.id}`
    for (let index = 0; index < 2; index += 1) await signIn()
    expect(await live()).toContain(kept.session.id)
  })
})

describe('DELETE /v1/auth/sessions', () => {
  it('ends all other sessions of the caller in every tenant, and none of other users', async () => {
    const asking = await mint('acme-print')
    const others = [await mint(), await mint('acme-print'), await mint('bolt-apparel')]
    const colleague = await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })
    const answer = await service.request('DELETE /v1/auth/sessions', { token: asking.token })
    expect(answer.status).toBe(204)
    for (const other of others) expect(await isLive(other)).toBe(false)
    expect(await isLive(asking)).toBe(true)
    expect(await isLive(colleague)).toBe(true)
    expect(ids(await list(asking))).toEqual([asking.id])
    expect((await service.request('DELETE /v1/auth/sessions', { token: asking.token })).status).toBe(204)
  })

  it('keeps the revocation time of sessions that ended earlier', async () => {
    const [asking, ended] = [await mint(), await mint()]
    await service.sql`update app.sessions set revoked_at = now() - interval '1 hour' where id = ${ended.id}`
    const before = await service.sql`select revoked_at from app.sessions where id = ${ended.id}`
    await service.request('DELETE /v1/auth/sessions', { token: asking.token })
    expect(await service.sql`select revoked_at from app.sessions where id = ${ended.id}`).toEqual(before)
  })
})
