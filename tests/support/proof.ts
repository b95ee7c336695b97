import type postgres from 'postgres'
import { entryBy, TenantProof } from '#shared/db/scope.ts'

/** Returns the ticket that the session check gives to a live session. `admin` is a superuser's connection. */
export async function ticketOf(admin: postgres.Sql, sessionId: string): Promise<Buffer> {
  const [row] = await admin<{ ticket: Buffer }[]>`
    select a.ticket from app.sessions s, app.authenticate(s.token_key, 60) a where s.id = ${sessionId}`
  if (row === undefined) throw new Error('the session is not live')
  return row.ticket
}

/** Returns the ticket of an operator for a tenant. */
export async function ticketFor(admin: postgres.Sql, tenantId: string): Promise<Buffer> {
  const [row] = await admin<{ ticket: Buffer }[]>`select app.operator_ticket(${tenantId}, 'a test') as ticket`
  if (row === undefined) throw new Error('the database issued no ticket')
  return row.ticket
}

/** Returns the ticket of a session in a tenant that no session check found. */
export async function sessionTicketFor(admin: postgres.Sql, tenantId: string): Promise<Buffer> {
  const [row] = await admin<{ ticket: Buffer }[]>`
    select app.seal_ticket('session', ${tenantId}, gen_random_uuid(), gen_random_uuid(), 1, 'password', now()) as ticket`
  if (row === undefined) throw new Error('the database issued no ticket')
  return row.ticket
}

/** Returns the proof of an operator for a tenant, for any login. */
export const proofFor = (admin: postgres.Sql, tenantId: string): TenantProof =>
  new TenantProof(async () => entryBy(await ticketFor(admin, tenantId)))
