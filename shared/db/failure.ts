/** The database did not respond: it is down, it hangs, or every connection is in use. The statement may have run or not. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** The connection was lost before COMMIT was sent. The server rolled the transaction back, so it may be run again. */
export class NothingCommitted extends DatabaseUnavailable {
  override name = 'NothingCommitted'
}

const text = (error: object, key: string): string => {
  const value: unknown = Reflect.get(error, key)
  return typeof value === 'string' ? value : ''
}

/** Returns the SQLSTATE of a PostgresError or the code of a socket error; '' for anything else. */
export const errorCode = (error: unknown): string =>
  typeof error === 'object' && error !== null ? text(error, 'code') : ''

/** The SQLSTATE for a login whose password is refused. */
export const INVALID_PASSWORD = '28P01'

/** The SQLSTATE for a row that references a missing row, and for deleting a row that is still referenced. */
export const FOREIGN_KEY_VIOLATION = '23503'

// A statement or a lock that timed out, a serialization failure, a deadlock.
const BUSY = /^(57014|55P03|40001|40P01)$/

// https://www.postgresql.org/docs/17/errcodes-appendix.html: class 08 connection, 28 authentication, 53 resources,
// 57P0x shutdown, 25P03 an idle transaction. The rest are codes of the driver and Node.
const UNAVAILABLE =
  /^(08...|28...|53...|57P0[1-5]|25P03|CONNECTION_\w+|CONNECT_TIMEOUT|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** Returns whether the database, and not the request, is at fault: the response is a 503, and the client may retry. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable || UNAVAILABLE.test(errorCode(error)) || isBusy(error)

/** Returns whether the database was too busy: it rolled the transaction back. */
export const isBusy = (error: unknown): boolean => BUSY.test(errorCode(error))
