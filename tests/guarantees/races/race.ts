import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { PASSWORD, type TestService } from '#tests/support/service.ts'
import type { Person } from './held.ts'

/** What the rounds of a race act with. */
export interface World {
  readonly service: TestService
  /** Runs an operator's command. Returns whether it was done. */
  readonly command: (
    order: { command: 'disable-user'; email: string } | { command: 'set-status'; slug: string; status: 'suspended' },
  ) => Promise<boolean>
  /** Whether a transaction is held under the race. Then requests that revoke nothing may fail with 503. */
  readonly held: boolean
}

/** One round of a race. Rejects when the promise is broken. Resolves to what must hold once everything has ended. */
export type Round = () => Promise<() => Promise<unknown>>

/** Prepares a round for a person. */
export type Kind = (world: World, person: Person) => Promise<Round>

// veto.test.ts measures the 2 s that a revocation may take. Here three races run at the same time, so their own work takes longer.
const WITHIN_MS = 5000
export const NEW_PASSWORD = 'a long sentence that nobody knows yet'

export const soon = (): Promise<void> => delay(Math.random() * 8)
export const now = Symbol('now')
type When = typeof soon | typeof now

/** Sends a request, some milliseconds from now. Returns its status. */
export async function send({ service, held }: World, route: string, token?: string, body?: unknown, when: When = soon) {
  if (when !== now) await when()
  const { status } = await service.request(route, { token, body })
  if (!held || status !== 503) expect(status, route).toBeLessThan(500)
  return status
}

/** Runs a revocation. Expects one of these results, and that no held transaction keeps it waiting. */
export async function revoke<T>({ held }: World, request: () => Promise<T>, ...results: readonly T[]): Promise<T> {
  const begun = performance.now()
  let result = await request()
  // A client sends it again after a 503: one that kept another waiting for a second may be ended.
  if (held && result === 503) result = await request()
  if (held) expect(performance.now() - begun).toBeLessThan(WITHIN_MS)
  expect(results).toContain(result)
  return result
}

export const sorted = (statuses: readonly number[]): number[] => statuses.toSorted((one, other) => one - other)

export const many = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

export const count = async ({ service: { sql } }: World, query: string, ...values: string[]): Promise<number> =>
  (await sql.unsafe(query, values)).length

export const liveSessions = (world: World, { member }: Person): Promise<number> =>
  count(world, 'select from app.sessions where user_id = $1 and revoked_at is null', member.userId)

export const logIn = (world: World, { email }: Person, password = PASSWORD, when: When = soon): Promise<number> =>
  send(world, 'POST /v1/auth/login', undefined, { email, password }, when)

export const membershipsOf = (world: World, email: string) =>
  count(
    world,
    `select from app.memberships m join app.users u on u.id = m.user_id
      where u.email = $1 and m.accepted_at is not null and m.revoked_at is null`,
    email,
  )
