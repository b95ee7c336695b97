/** A value in a statement. Values are sent as parameters, never as text of the statement. */
export type SqlValue = string | number | boolean | Date | Uint8Array | null

/**
 * Runs one statement immediately and returns its rows, whose type is named at the tag. Throws the PostgresError of the
 * server; without a response, DatabaseUnavailable or the error of the socket.
 */
export type Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => Promise<Row[]>
