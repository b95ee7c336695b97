import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createMember } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import type { Person } from './held.ts'
import {
  count,
  type Kind,
  liveSessions,
  logIn,
  many,
  membershipsOf,
  NEW_PASSWORD,
  now,
  revoke,
  send,
  soon,
  sorted,
  type World,
} from './race.ts'

/** The person writes with two requests at a time until their access ends, then no write is added. */
const whileTheyWrite =
  (end: (world: World, person: Person) => Promise<unknown>, refusal: number): Kind =>
  async (world, person) =>
  async () => {
    const set = randomUUID()
    const written = () => count(world, `select from app.designs where name like '% ' || $1`, set)
    const given = new AbortController()
    const write = async () => {
      while (!given.signal.aborted) {
        const body = { op: randomUUID(), set, hold_ms: 3 }
        const status = await send({ ...world, held: true }, 'POST /v1/test/designs', person.member.token, body, now)
        // A client sends it again after a 503.
        if (status !== 201 && status !== 503) return status
      }
      return 0
    }
    const writers = many(2, write)
    try {
      await soon()
      await end(world, person)
    } catch (error) {
      given.abort()
      throw error
    }
    const atTheAnswer = await written()
    return async () => {
      expect(await writers).toEqual([refusal, refusal])
      expect(await written()).toBe(atTheAnswer)
    }
  }

const setRole = (
  world: World,
  { membershipId }: { membershipId: string },
  role: string,
  by: { token: string },
  ...refusals: number[]
) => revoke(world, () => send(world, `PATCH /v1/members/${membershipId}`, by.token, { role }), 200, ...refusals)

const remove = (world: World, { owner, member }: Person) =>
  revoke(world, () => send(world, `DELETE /v1/members/${member.membershipId}`, owner.token), 200)

/** Creates a role of the tenant that adds a permission to those of viewers. Returns its id and code. */
async function newRole({ service }: World, { owner }: Person, add: readonly string[]) {
  const code = `r${randomUUID().slice(0, 8)}`
  const body = {
    code,
    label: code.replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? ''),
    based_on: 'viewer',
    add,
  }
  const { body: role } = await service.request('POST /v1/roles', { token: owner.token, body })
  return role as { id: number; code: string }
}

async function invitation({ service }: World, inviter: { token: string }, role = 'viewer') {
  const email = `${randomUUID()}@races.test`
  const { body } = await service.request('POST /v1/members/invite', { token: inviter.token, body: { email, role } })
  return { email, id: String(body.id), token: await service.mail.tokenFor(email) }
}

const accept = (world: World, token: string) =>
  send(world, 'POST /v1/auth/invitations/accept', undefined, { token, full_name: 'A Person', password: NEW_PASSWORD })

/** Adds an owner, so that the tenant has two: the founder becomes a viewer. */
async function secondOwner({ service }: World, { owner, slug, tenantId }: Person) {
  const second = await createMember(service.sql, { email: `${randomUUID()}@races.test`, slug })
  await service.sql`
    update app.memberships set role_id = 7
     where tenant_id = ${tenantId} and role_id = 1 and id not in (${owner.membershipId}, ${second.membershipId})`
  return second
}

async function resetToken({ service }: World, { email }: Person): Promise<string> {
  await service.request('POST /v1/auth/password/forgot', { body: { email } })
  return service.mail.tokenFor(email)
}

const reset = (world: World, token: string, password: string) =>
  send(world, 'POST /v1/auth/password/reset', undefined, { token, password })

/** Five sign-ins by the old password, while a new one is set. */
const whileTheySignIn =
  (change: (world: World, person: Person, token: string) => Promise<unknown>, kept: number): Kind =>
  async (world, person) => {
    const token = await resetToken(world, person)
    return async () => {
      const signingIn = many(5, () => logIn(world, person))
      await change(world, person, token)
      const live = await liveSessions(world, person)
      expect(live).toBe(kept)
      return async () => {
        await signingIn
        expect(await liveSessions(world, person)).toBe(live)
        expect(await logIn(world, person)).toBe(401)
      }
    }
  }

/** Sets passwords by these tokens at the same time. One of them is the password afterwards. */
const resets =
  (tokens: readonly number[]): Kind =>
  async (world, person) => {
    const made: string[] = []
    for (const index of new Set(tokens)) made[index] = await resetToken(world, person)
    return async () => {
      const passwords = tokens.map((_, index) => `${NEW_PASSWORD}, number ${index}`)
      const answers = await Promise.all(
        tokens.map((token, index) =>
          revoke(world, () => reset(world, made[token] ?? '', passwords[index] ?? ''), 204, 400),
        ),
      )
      expect(answers).toContain(204)
      return async () => {
        const found: number[] = []
        for (const password of passwords) found.push(await logIn(world, person, password, now))
        expect(sorted(found)).toEqual([200, ...passwords.slice(1).map(() => 401)])
      }
    }
  }

/** The kinds of races, each by its promise. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'commits no write after the answer that a member is removed': whileTheyWrite(remove, 401),
  'commits no write after the answer that a role is changed': whileTheyWrite(
    (world, { owner, member }) => setRole(world, member, 'viewer', owner),
    403,
  ),
  'commits no write after the answer that a role lost the permission': async (world, person) => {
    const role = await newRole(world, person, ['deal.write'])
    await world.service.sql`update app.memberships set role_id = ${role.id} where id = ${person.member.membershipId}`
    const lose = () =>
      revoke(world, () => send(world, `PATCH /v1/roles/${role.id}`, person.owner.token, { add: [] }), 200)
    return whileTheyWrite(lose, 403)(world, person)
  },
  'commits no write after the answer that the tenant asks for a second factor': async (world, person) => {
    const { owner } = person
    await world.service.sql`update app.sessions set second_factor_at = now() where id = ${owner.id}`
    const body = { require: 'everyone', grace_days: 0 }
    const ask = () => revoke(world, () => send(world, 'PUT /v1/tenant/second-factor-policy', owner.token, body), 200)
    return whileTheyWrite(ask, 401)(world, person)
  },
  'commits no write after the answer that a role gained a permission for which a second factor is asked': async (
    world,
    person,
  ) => {
    const role = await newRole(world, person, ['deal.write'])
    const { sql } = world.service
    await sql`update app.memberships set role_id = ${role.id} where id = ${person.member.membershipId}`
    await sql`update app.sessions set second_factor_at = now() where id = ${person.owner.id}`
    await sql`update app.tenants set second_factor_managers_from = now() where id = ${person.tenantId}`
    const add = ['deal.write', 'vendor.manage']
    const gain = () => revoke(world, () => send(world, `PATCH /v1/roles/${role.id}`, person.owner.token, { add }), 200)
    return whileTheyWrite(gain, 401)(world, person)
  },
  'commits no write after the answer that a session is signed out': whileTheyWrite(
    (world, { member }) => revoke(world, () => send(world, 'DELETE /v1/auth/session', member.token), 204),
    401,
  ),
  'commits no write after the answer that a member left the tenant': whileTheyWrite(
    (world, { member, tenantId }) =>
      revoke(world, () => send(world, `DELETE /v1/auth/tenants/${tenantId}`, member.token), 204),
    401,
  ),
  'commits no write after the answer that the sessions of a member are ended': whileTheyWrite(
    (world, { member, owner }) =>
      revoke(world, () => send(world, `DELETE /v1/members/${member.membershipId}/sessions`, owner.token), 200),
    401,
  ),
  'keeps one of two owners who leave': async (world, person) => {
    const { owner, tenantId } = person
    const second = await secondOwner(world, person)
    return async () => {
      const leave = ({ token }: { token: string }) =>
        revoke(world, () => send(world, `DELETE /v1/auth/tenants/${tenantId}`, token), 204, 409)
      expect(sorted(await Promise.all([leave(owner), leave(second)]))).toEqual([204, 409])
      return async () => {
        const owners = 'select from app.memberships where tenant_id = $1 and role_id = 1 and revoked_at is null'
        expect(await count(world, owners, tenantId)).toBe(1)
      }
    }
  },
  'leaves no holder of a role that is deleted while it is given and offered': async (world, person) => {
    const { owner, member } = person
    const role = await newRole(world, person, [])
    const body = { email: `${randomUUID()}@races.test`, role: role.code }
    return async () => {
      await Promise.all([
        send(world, `DELETE /v1/roles/${role.id}`, owner.token),
        setRole(world, member, role.code, owner, 422),
        send(world, 'POST /v1/members/invite', owner.token, body),
      ])
      return async () => {
        const held = `select from app.roles r where r.id = ${role.id} and r.deleted_at is not null and (
          exists (select from app.memberships m where m.role_id = r.id)
          or exists (select from app.tokens t where t.role_id = r.id and t.consumed_at is null))`
        expect(await count(world, held)).toBe(0)
      }
    }
  },
  'either accepts or cancels an invitation': async (world, { owner }) => {
    const { id, email, token } = await invitation(world, owner)
    return async () => {
      const cancelling = send(world, `DELETE /v1/members/invitations/${id}`, owner.token)
      const [accepted, cancelled] = await Promise.all([accept(world, token), cancelling])
      return async () => {
        if (!world.held) expect(sorted([accepted, cancelled])).toEqual(accepted === 200 ? [200, 404] : [200, 400])
        expect(accepted === 200 && cancelled === 200).toBe(false)
        expect(await membershipsOf(world, email)).toBe(accepted === 200 ? 1 : 0)
      }
    }
  },
  'creates one user and one membership for an invitation that is accepted four times': async (world, { owner }) => {
    const { email, token } = await invitation(world, owner)
    return async () => {
      const answers = await many(4, () => accept(world, token))
      if (!world.held) expect(new Set(answers)).toEqual(new Set([200]))
      return async () => {
        expect(await membershipsOf(world, email)).toBe(answers.includes(200) ? 1 : 0)
        expect(await count(world, 'select from app.users where email = $1', email)).toBeLessThan(2)
      }
    }
  },
  'accepts no invitation after the answer that its inviter is demoted': async (world, { owner, slug }) => {
    const email = `${randomUUID()}@races.test`
    const inviter = await createMember(world.service.sql, { email, role: 'admin', slug })
    const invited = await invitation(world, inviter)
    return async () => {
      const accepting = accept(world, invited.token)
      await setRole(world, inviter, 'viewer', owner)
      const members = await membershipsOf(world, invited.email)
      return async () => {
        const status = await accepting
        expect(await membershipsOf(world, invited.email)).toBe(members)
        if (!world.held) expect(status).toBe(members === 1 ? 200 : 400)
      }
    }
  },
  'creates no session by the old password after the answer to a reset': whileTheySignIn(
    (world, _person, token) => revoke(world, () => reset(world, token, NEW_PASSWORD), 204),
    0,
  ),
  'creates no session by the old password after the answer to a change': whileTheySignIn((world, { other }) => {
    const body = { current_password: PASSWORD, new_password: NEW_PASSWORD }
    return revoke(world, () => send(world, 'POST /v1/auth/password/change', other.token, body), 204)
  }, 1),
  'sets one of three passwords by one token': resets([0, 0, 0]),
  'sets one of two passwords by two tokens': resets([0, 1]),
  'signs a session out once':
    async (world, { member }) =>
    async () => {
      // Under a held transaction, one that keeps the others waiting for a second may be ended, also after its commit.
      const refusals = world.held ? [401, 503] : [401]
      const signOut = () => revoke(world, () => send(world, 'DELETE /v1/auth/session', member.token), 204, ...refusals)
      const done = (await many(3, signOut)).filter((status) => status === 204).length
      expect(done).toBeLessThanOrEqual(1)
      if (!world.held) expect(done).toBe(1)
      return async () => expect(await send(world, 'GET /v1/auth/session', member.token)).toBe(401)
    },
  'leaves no session in a tenant that its user is removed from while they select it': async (world, person) => {
    return async () => {
      const selecting = send(world, `POST /v1/auth/tenants/${person.tenantId}/select`, person.other.token)
      await remove(world, person)
      const there = () =>
        count(
          world,
          'select from app.sessions where user_id = $1 and tenant_id = $2 and revoked_at is null',
          person.member.userId,
          person.tenantId,
        )
      expect(await there()).toBe(0)
      return async () => {
        await selecting
        expect(await there()).toBe(0)
      }
    }
  },
  'keeps one of two owners who demote each other': async (world, person) => {
    const { owner, tenantId } = person
    const second = await secondOwner(world, person)
    return async () => {
      const demote = (actor: typeof owner, other: typeof owner) => setRole(world, other, 'viewer', actor, 401, 403, 409)
      const answers = await Promise.all([demote(owner, second), demote(second, owner)])
      expect(answers.filter((status) => status === 200)).toHaveLength(1)
      return async () => {
        const owners = 'select from app.memberships where tenant_id = $1 and role_id = 1 and revoked_at is null'
        expect(await count(world, owners, tenantId)).toBe(1)
      }
    }
  },
  'lets a tenant have twenty roles of its own': async (world, { owner, tenantId }) => {
    const { sql } = world.service
    await sql`
      insert into app.roles (tenant_id, code, label, rank, based_on)
      select ${tenantId}, 'made-' || n, 'Made ' || n, 10, 7 from generate_series(1, 17) n`
    return async () => {
      const answers = await many(6, (index) =>
        send(world, 'POST /v1/roles', owner.token, {
          code: `new-${index}`,
          label: `New ${index}`,
          based_on: 'viewer',
          add: [],
        }),
      )
      if (!world.held) expect(sorted(answers)).toEqual([200, 200, 200, 409, 409, 409])
      return async () => {
        expect(await count(world, 'select from app.roles where tenant_id = $1', tenantId)).toBeLessThan(21)
      }
    }
  },
  'leaves no session in a tenant that is suspended while it is selected': async (world, { other, slug, tenantId }) => {
    return async () => {
      const selecting = send(world, `POST /v1/auth/tenants/${tenantId}/select`, other.token)
      await soon()
      await revoke(world, () => world.command({ command: 'set-status', slug, status: 'suspended' }), true)
      const live = () => count(world, 'select from app.sessions where tenant_id = $1 and revoked_at is null', tenantId)
      expect(await live()).toBe(0)
      return async () => {
        await selecting
        expect(await live()).toBe(0)
      }
    }
  },
  'creates no session of a user after the answer that they are disabled': async (world, person) => async () => {
    const signingIn = many(5, () => logIn(world, person))
    await soon()
    await revoke(world, () => world.command({ command: 'disable-user', email: person.email }), true)
    expect(await liveSessions(world, person)).toBe(0)
    return async () => {
      await signingIn
      expect(await liveSessions(world, person)).toBe(0)
      expect(await logIn(world, person)).toBe(401)
    }
  },
}
