import type postgres from 'postgres'
import { addSecondFactor } from '#infra/local/seed-secured.ts'
import { SEED_PASSWORD as PASSWORD } from '#infra/local/seed.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { CHEAP_HASH } from './settings.ts'

/** A person who signs in. */
export interface Person {
  readonly email: string
  readonly tenant: number
  readonly password: string
}

/** A person who has an authenticator app. */
export interface SecuredPerson extends Person {
  readonly totpSecret: string
  readonly recoveryCodes: readonly string[]
}

/** A tenant of the traffic. Every text in it begins with its mark, by which a response of another tenant is noticed. */
export interface Shop {
  readonly tenant: number
  readonly id: string
  readonly staff: readonly Person[]
  readonly secured: readonly SecuredPerson[]
  /** Members whose role changes, by membership. No two requests change one at a time. */
  readonly changing: string[]
}

export const SHOPS = 4
const CHANGING = 12
/** Each has one code in 30 seconds. */
const SECURED = 10
/** The roles that send the traffic. Together they may send every request. */
const STAFF = ['owner', 'owner', 'admin'] as const

export const markOf = (tenant: number): string => `led-t${tenant}-`

/** Returns the marks of tenants in a text. */
export const marksIn = (text: string): Set<string> => new Set(text.match(/led-t\d+-/g))

/** Creates the tenants with their members. A second factor is stored with these secrets of the stack. */
export async function createShops(
  sql: postgres.Sql,
  secrets: { readonly pepper: string; readonly factorKey: string },
): Promise<Shop[]> {
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
    const secured: SecuredPerson[] = []
    for (let index = 0; index < SECURED; index += 1) {
      const email = `${mark}secured${index}@ledger.test`
      const factor = { totpSecret: newTotpSecret(), recoveryCodes: newRecoveryCodes() }
      await addSecondFactor(sql, await createUser(sql, { email, role: 'viewer', slugs: [slug] }), {
        ...secrets,
        ...factor,
      })
      secured.push({ email, tenant, password: PASSWORD, ...factor })
    }
    const signingIn = [...staff, ...secured].map(({ email }) => email)
    await sql`update app.users set password_hash = ${hash} where email in ${sql(signingIn)}`
    const changing = await sql<{ id: string }[]>`
      select m.id from app.memberships m join app.users u on u.id = m.user_id
       where m.tenant_id = ${id} and u.email::text collate "C" like ${`${mark}changing%`}`
    shops.push({ tenant, id, staff, secured, changing: changing.map((row) => row.id) })
  }
  return shops
}
