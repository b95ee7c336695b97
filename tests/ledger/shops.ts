import type postgres from 'postgres'
import { hashPassword } from '#shared/password/argon2.ts'
import { SEED_PASSWORD as PASSWORD } from '#infra/local/seed.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { CHEAP_HASH } from './settings.ts'

/** A person who signs in. */
export interface Person {
  readonly email: string
  readonly tenant: number
  readonly password: string
}

/** A tenant of the traffic. Every text in it begins with its mark, by which a response of another tenant is noticed. */
export interface Shop {
  readonly tenant: number
  readonly id: string
  readonly staff: readonly Person[]
  /** Members whose role changes, by membership. No two requests change one at a time. */
  readonly changing: string[]
}

export const SHOPS = 4
const CHANGING = 12
/** The roles that send the traffic. Together they may send every request. */
const STAFF = ['owner', 'owner', 'admin'] as const

export const markOf = (tenant: number): string => `led-t${tenant}-`

/** Returns the marks of tenants in a text. */
export const marksIn = (text: string): Set<string> => new Set(text.match(/led-t\d+-/g))

/** Creates the tenants with their members. */
export async function createShops(sql: postgres.Sql): Promise<Shop[]> {
  const hash = await hashPassword(PASSWORD, CHEAP_HASH)
  const shops: Shop[] = []
  for (let tenant = 1; tenant <= SHOPS; tenant += 1) {
    const mark = markOf(tenant)
    const slug = `${mark}shop`
    const id = await createTenant(sql, slug)
    const staff: Person[] = []
    for (const [index, role] of STAFF.entries()) {
      const email = `${mark}${role}${index}@ledger.test`
      await createUser(sql, { email, role, slugs: [slug] })
      staff.push({ email, tenant, password: PASSWORD })
    }
    for (let index = 0; index < CHANGING; index += 1)
      await createUser(sql, { email: `${mark}changing${index}@ledger.test`, role: 'viewer', slugs: [slug] })
    await sql`update app.users set password_hash = ${hash} where email in ${sql(staff.map(({ email }) => email))}`
    const changing = await sql<{ id: string }[]>`
      select m.id from app.memberships m join app.users u on u.id = m.user_id
       where m.tenant_id = ${id} and u.email::text collate "C" like ${`${mark}changing%`}`
    shops.push({ tenant, id, staff, changing: changing.map((row) => row.id) })
  }
  return shops
}
