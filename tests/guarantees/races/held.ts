import postgres from 'postgres'
import { type MintedSession, mintSession, type TestMember } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import type { TestService } from '#tests/support/service.ts'
import type { ServiceLogin } from '#tests/support/service-login.ts'

/** A member whose access ends, in a tenant of their own. Their password is PASSWORD. */
export interface Person {
  readonly slug: string
  readonly tenantId: string
  readonly email: string
  readonly member: TestMember
  readonly owner: TestMember
  /** A session of the person without a tenant. */
  readonly other: MintedSession
}

export async function newPerson(service: TestService): Promise<Person> {
  const { sql } = service
  const { slug, id, owner, sales } = await service.newTenant('owner', 'sales')
  const email = `sales@${slug}.test`
  await sql`
    update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test')
     where email = ${email}`
  return { slug, tenantId: id, email, member: sales, owner, other: await mintSession(sql, { email }) }
}

// Texts, because the driver sends no value that is falsy.
const TIMEOUTS: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** Opens a connection that has no timeouts. */
export const connectWithoutTimeouts = (url: string): postgres.Sql =>
  postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: TIMEOUTS,
  })

export async function proofOf({ sql }: TestService, { member }: Person): Promise<Buffer> {
  const [row] = await sql<{ proof: Buffer }[]>`select app.service_proof(${await ticketOf(sql, member.id)}) as proof`
  if (row === undefined) throw new Error('no proof')
  return row.proof
}

/** Runs a statement and leaves it running. */
export const leave = (statement: PromiseLike<unknown>): void => void Promise.resolve(statement).catch(() => {})

/** What a holder acts on. `open` opens a connection that the test closes. */
export interface Holding {
  readonly service: TestService
  /** The login of another service. */
  readonly shop: ServiceLogin
  readonly person: Person
  readonly open: (url: string) => postgres.Sql
}

/** Begins to write a design of the name `late`. */
async function write({ service, person, open }: Holding): Promise<postgres.Sql> {
  const sql = open(service.database.appUrl)
  await sql`begin`
  await sql`select app.enter_to_write(${await ticketOf(service.sql, person.member.id)}, 'deal.write', false)`
  await sql`insert into app.designs (tenant_id, name) values (${person.tenantId}, 'late')`
  return sql
}

/** Locks a whole table as a login that may. */
const lockTable = async (sql: postgres.Sql, table: string): Promise<void> => {
  await sql`begin`
  await sql.unsafe(`lock table ${table} in access exclusive mode`)
}

/** Each opens a transaction that nothing ends, with a lock that revocations of the person need. */
export const HOLDERS: Readonly<Record<string, (holding: Holding) => Promise<unknown>>> = {
  'another service that entered and does nothing': async ({ service, shop, person, open }) => {
    const sql = open(shop.url)
    await sql`begin`
    await sql`select app.enter(${await proofOf(service, person)}, 'catalog.read')`
  },
  'a write that has a long statement': async (holding) => {
    const sql = await write(holding)
    // Longer than a revocation may take.
    leave(sql`select pg_sleep(3)`)
  },
  'two writes': (holding) => Promise.all([write(holding), write(holding)]),
  'a revocation that does not end': async ({ service, person, open }) => {
    const sql = open(service.database.urls.auth)
    await sql`begin`
    await sql`select app.enter_session(${await ticketOf(service.sql, person.member.id)})`
  },
  'an exclusive write of the tenant': async ({ service, person, open }) => {
    const sql = open(service.database.appUrl)
    await sql`begin`
    await sql`select app.enter_to_write(${await ticketOf(service.sql, person.owner.id)}, 'member.manage', true)`
    await sql`select from app.memberships where id = ${person.member.membershipId} for no key update`
  },
  'a login without privileges that takes the advisory locks': async ({ service, person, open }) => {
    const sql = open(service.database.urls.services)
    await sql`select pg_advisory_lock(hashtextextended(${person.member.userId}, 0)),
                     pg_advisory_lock(hashtextextended(${person.tenantId + person.member.userId}, 0))`
  },
}

/** As HOLDERS, with a lock that everybody needs. */
export const HOLDERS_OF_ALL: typeof HOLDERS = {
  'a lock on the permissions of all roles': ({ service, open }) =>
    lockTable(open(service.database.appUrl), 'app.role_permissions'),
}

export const lateDesigns = async ({ sql }: TestService, { tenantId }: Person): Promise<number> =>
  (await sql`select from app.designs where tenant_id = ${tenantId} and name = 'late'`).length
