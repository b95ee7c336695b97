/** The database gave no answer: it is down, hangs, or every connection is in use. Nothing is known of the statement. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

const text = (error: object, key: string): string => {
  const value: unknown = Reflect.get(error, key)
  return typeof value === 'string' ? value : ''
}

/** The SQLSTATE of a PostgresError, or the code of a socket error; '' for anything else. */
export const errorCode = (error: unknown): string =>
  typeof error === 'object' && error !== null ? text(error, 'code') : ''

/** The SQLSTATE of a row that refers to none, or of one that is still referred to. */
export const FOREIGN_KEY_VIOLATION = '23503'

// https://www.postgresql.org/docs/17/errcodes-appendix.html: class 08 connection, 28 sign-in, 53 resources, 57P0x
// shutdown; then a timed-out lock or statement, a serialization failure, a deadlock. The rest are the driver's and Node's own codes.
const UNAVAILABLE =
  /^(08...|28...|53...|57P0[1-5]|57014|55P03|40001|40P01|25P03|CONNECTION_\w+|CONNECT_TIMEOUT|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** True when the database, and not the request, is at fault: answer 503 and let the client try again. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable || UNAVAILABLE.test(errorCode(error))
