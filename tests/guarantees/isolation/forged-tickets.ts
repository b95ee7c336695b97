import type postgres from 'postgres'
import { as } from './guarantee.ts'

// Tickets and proofs that only who reads app.seal can make. Their layout is in migrations/0002-tenant-guard.sql.

/** How many bytes a ticket or a proof has. */
export const TICKET_BYTES = 103

type Key = 'ticket_key' | 'proof_key'

/** Replaces bytes of a ticket or proof, and seals it with a key. */
const sealedAnew = (sql: postgres.Sql, ticket: string, placing: string, key: Key): Promise<string> =>
  as(sql, 'none', async () => {
    const [row] = await sql.unsafe<{ ticket: string }[]>(
      `select encode(body || sha256(s.${key} || body), 'hex') as ticket
         from app.seal s, lateral (
           select overlay(substr(decode($1, 'hex'), 1, ${TICKET_BYTES - 32}) placing ${placing}) as body offset 0) as changed`,
      [ticket],
    )
    return row?.ticket ?? ''
  })

/** Returns the same ticket or proof of another kind, a byte in hex. */
export const ofKind = (sql: postgres.Sql, ticket: string, kind: string, key: Key = 'ticket_key'): Promise<string> =>
  sealedAnew(sql, ticket, `'\\x${kind}'::bytea from 1`, key)

/** Returns the same ticket or proof, which expired a second ago. */
export const expired = (sql: postgres.Sql, ticket: string, key: Key = 'ticket_key'): Promise<string> =>
  sealedAnew(sql, ticket, `timestamptz_send(clock_timestamp() - interval '1 s') from ${TICKET_BYTES - 39}`, key)

/** Returns a ticket or proof with a byte changed, once for each byte. */
export const withEachByteChanged = (ticket: string): string[] =>
  Array.from({ length: TICKET_BYTES }, (_, at) => {
    const bytes = Buffer.from(ticket, 'hex')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes.toString('hex')
  })
