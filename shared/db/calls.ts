import type { Call, Database, Sql } from '#shared/db/connect.ts'
import type { Run, SqlValue } from '#shared/db/run.ts'

declare const ofTicket: unique symbol

/** The bytes of a session's ticket, which the database sealed. `present` of `Ticket` passes them to a statement. */
export type TicketBytes = Uint8Array & { readonly [ofTicket]: true }

/**
 * Runs one call of a function of the database that checks the ticket, which is its first value. The call is the whole
 * transaction. It is no `Sql`: code that writes rows does not accept it.
 */
export type TicketRun = <Row extends object>(
  text: TemplateStringsArray,
  ticket: TicketBytes,
  ...values: readonly SqlValue[]
) => Promise<Row[]>

/** The calls of one request by its ticket. Throws when the first value is not that ticket. */
export type CallByTicket = TicketRun & Pick<Call, 'invoke'>

/** Returns the calls of a request. Those of a read may run twice: see `repeatable` of `Call`. */
export const callByTicket = (
  { call }: Database,
  ticket: TicketBytes,
  { repeatable }: { repeatable: boolean },
): CallByTicket => {
  return Object.assign(checkedRun(repeatable ? call.repeatable : call, ticket), { invoke: call.invoke })
}

/** Returns the calls of a request as statements of one transaction. What they invoke is invoked after its commit. */
export const callInTransaction = (sql: Sql, ticket: TicketBytes): CallByTicket =>
  Object.assign(checkedRun(sql, ticket), {
    invoke: async (...job: Parameters<Call['invoke']>) => void sql.invoking(...job),
  })

const checkedRun =
  (run: Run, ticket: TicketBytes): TicketRun =>
  (text, first, ...values) => {
    if (first !== ticket) throw new Error('the first value of a call is not the ticket of its request')
    return run(text, first, ...values)
  }
