import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '#tests/support/rounds.ts'
import { PASSWORD, type TestService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { writes } from '#tests/support/write-design.ts'

const WRITERS = 6
const EMAIL = 'sales@acme.test'

interface Revoked {
  readonly service: TestService
  /** The token of the session that writes. */
  readonly token: string
  /** The token of another session of the same user. */
  readonly otherToken: string
}

interface Case {
  readonly how: string
  readonly revoke: (revoked: Revoked) => Promise<unknown>
  /** Reverts the changes of the round. */
  readonly restore?: (service: TestService) => Promise<unknown>
  /** The status of the writers' last responses. */
  readonly refusal: 401 | 403
}

const sessionIdOf = async (service: TestService, token: string): Promise<string> =>
  (await service.request('GET /v1/auth/session', { token })).body.session.id

const expectStatus = async (answer: Promise<{ status: number }>, status: number) =>
  expect((await answer).status).toBe(status)

const bySession: readonly Case[] = [
  {
    how: 'ended by itself',
    revoke: ({ service, token }) => expectStatus(service.request('DELETE /v1/auth/session', { token }), 204),
    refusal: 401,
  },
  {
    how: 'revoked from another session',
    revoke: async ({ service, token, otherToken }) => {
      const id = await sessionIdOf(service, token)
      await expectStatus(service.request(`DELETE /v1/auth/sessions/${id}`, { token: otherToken }), 204)
    },
    refusal: 401,
  },
  {
    how: 'revoked with all others',
    revoke: ({ service, otherToken }) =>
      expectStatus(service.request('DELETE /v1/auth/sessions', { token: otherToken }), 204),
    refusal: 401,
  },
  {
    how: 'revoked by a change of password',
    revoke: ({ service, otherToken }) => {
      const body = { current_password: PASSWORD, new_password: 'a long sentence that nobody knows yet' }
      return expectStatus(service.request('POST /v1/auth/password/change', { token: otherToken, body }), 204)
    },
    restore: ({ database: { admin } }) => admin`
      update app.users set password_hash = (select password_hash from app.users where email = 'viewer@acme.test')
       where email = ${EMAIL}`,
    refusal: 401,
  },
  {
    how: 'revoked in the database',
    revoke: async ({ service, token }) => {
      const id = await sessionIdOf(service, token)
      await service.database.admin`update app.sessions set revoked_at = now() where id = ${id}`
    },
    refusal: 401,
  },
]

const membershipRevoked: Case = {
  how: 'revoked with its membership, in one transaction',
  revoke: ({ service: { database } }) =>
    database.admin.begin(async (tx) => {
      const [membership] = await tx`
        update app.memberships m set revoked_at = now() from app.users u
         where u.id = m.user_id and u.email = ${EMAIL} returning m.user_id, m.tenant_id`
      await tx`
        update app.sessions set revoked_at = now()
         where user_id = ${membership?.['user_id']} and tenant_id = ${membership?.['tenant_id']} and revoked_at is null`
    }),
  restore: ({ database: { admin } }) => admin`
    update app.memberships m set revoked_at = null from app.users u where u.id = m.user_id and u.email = ${EMAIL}`,
  refusal: 401,
}

const roleChanged: Case = {
  how: 'left without the permission by a change of role',
  revoke: ({ service: { database } }) => database.admin`
    update app.memberships m set role_id = (select id from app.roles where code = 'viewer') from app.users u
     where u.id = m.user_id and u.email = ${EMAIL}`,
  restore: ({ database: { admin } }) => admin`
    update app.memberships m set role_id = (select id from app.roles where code = 'sales') from app.users u
     where u.id = m.user_id and u.email = ${EMAIL}`,
  refusal: 403,
}

/** An owner's request that takes the membership's access away. */
const byOwner = (how: string, method: 'PATCH' | 'DELETE', refusal: 401 | 403, restore: Case['restore']): Case => ({
  how,
  revoke: async ({ service }) => {
    const [membership] = await service.database.admin<{ id: string }[]>`
      select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${EMAIL}`
    const token = await service.signIn('owner@acme.test', 'acme-print')
    const body = method === 'PATCH' ? { role: 'viewer' } : undefined
    await expectStatus(service.request(`${method} /v1/members/${membership?.id}`, { token, body }), 200)
  },
  restore,
  refusal,
})
const memberRemoved = byOwner('revoked with its membership by an owner', 'DELETE', 401, membershipRevoked.restore)
const memberDemoted = byOwner('left without the permission by an owner', 'PATCH', 403, roleChanged.restore)

/**
 * Runs rounds of six writers on one session that is revoked during their work, until one wrote `expected`. `early`
 * counts the rows before the response to the revocation, `late` the rows after it.
 */
async function race(service: TestService, { revoke, restore }: Case, expected: 'early' | 'late') {
  const { admin } = service.database
  const outcome = { early: 0, late: 0, endings: new Set<number>() }
  for (const _ of rounds(12, () => outcome[expected] > 0)) {
    const set = randomUUID()
    const [token, otherToken] = await Promise.all([service.signIn(EMAIL, 'acme-print'), service.signIn(EMAIL)])
    const rows = async (): Promise<number> => {
      const [row] = await admin<
        { count: number }[]
      >`select count(*)::int from app.designs where name like ${`% ${set}`}`
      return row?.count ?? 0
    }
    const over = new AbortController()
    const write = async () => {
      while (!over.signal.aborted) {
        const body = { op: randomUUID(), set, hold_ms: 3 }
        const { status } = await service.request('POST /v1/test/designs', { token, body })
        // 503 is a lock that a slow machine waited for too long. A client sends the request again.
        if (status === 201 || status === 503) continue
        outcome.endings.add(status)
        return
      }
    }
    const writers = Promise.all(Array.from({ length: WRITERS }, write))
    try {
      // The writers are at random steps.
      await delay(5 + Math.random() * 15)
      await revoke({ service, token, otherToken })
      const atTheAnswer = await rows()
      await writers
      outcome.early += atTheAnswer
      outcome.late += (await rows()) - atTheAnswer
    } finally {
      over.abort()
      await writers
      await restore?.(service)
    }
  }
  return outcome
}

describe('with every lock', () => {
  const service = useService({ groups: [writes] })

  it.for([...bySession, membershipRevoked, roleChanged, memberRemoved, memberDemoted])(
    'commits no write of a session after the response that it is $how',
    async (revocation) => {
      const { early, late, endings } = await race(service, revocation, 'early')
      expect(early).toBeGreaterThan(0)
      expect(late).toBe(0)
      expect([...endings]).toEqual([revocation.refusal])
    },
  )

  // The transactions of these loops overlap, so at any moment one of them holds its locks. A lock that lets later writers
  // overtake a waiting revocation never becomes free for it.
  const LOOPS = 4
  const HOLD_MS = 60

  it.for(bySession.filter(({ how }) => how !== 'revoked in the database'))(
    'waits for writes in progress but not for later ones when a session is $how',
    async ({ revoke, restore }) => {
      const [token, otherToken] = await Promise.all([service.signIn(EMAIL, 'acme-print'), service.signIn(EMAIL)])
      const over = new AbortController()
      let written = 0
      const write = async (_: unknown, loop: number) => {
        await delay((loop * HOLD_MS) / LOOPS)
        while (!over.signal.aborted) {
          const body = { op: randomUUID(), set: randomUUID(), hold_ms: HOLD_MS }
          const { status } = await service.request('POST /v1/test/designs', { token, body })
          if (status !== 201) return
          written += 1
        }
      }
      const writers = Promise.all(Array.from({ length: LOOPS }, write))
      try {
        await delay(2 * HOLD_MS)
        const before = written
        await revoke({ service, token, otherToken })
        // A revocation that later writers overtake would wait for all of them.
        expect(written - before).toBeLessThan(50)
      } finally {
        over.abort()
        await writers
        await restore?.(service)
      }
    },
  )
})

describe('without a lock that decides', () => {
  const service = useService({ groups: [writes] })

  it('finds late writes when a revocation is no key change', async () => {
    await service.sql`alter table app.sessions drop constraint sessions_revocation_is_a_key_change`
    const revoked = bySession.find(({ how }) => how === 'revoked in the database')
    if (revoked === undefined) throw new Error('there is no such case')
    expect((await race(service, revoked, 'late')).late).toBeGreaterThan(0)
  })

  describe('when entering the tenant locks nothing', () => {
    beforeAll(async () => {
      const [entry] = await service.sql<{ text: string }[]>`
        select pg_get_functiondef('app.enter_to_write'::regproc) as text`
      const unlocked = entry?.text.replaceAll(/ for (key )?share;/g, ';') ?? ''
      expect(unlocked).not.toBe(entry?.text)
      await service.sql.unsafe(unlocked)
    })

    it.for([membershipRevoked, roleChanged])(
      'finds late writes of a session $how when entering the tenant locks nothing',
      async (revocation) => {
        expect((await race(service, revocation, 'late')).late).toBeGreaterThan(0)
      },
    )
  })
})
