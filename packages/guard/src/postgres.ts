import type postgres from 'postgres'
import type { Permission } from './permission.ts'
import type { AnyPrincipal } from './principal.ts'
import { type Entry, inTenant, type TransactionOptions } from './tenant-transaction.ts'

export { TenantRefused, type TransactionOptions } from './tenant-transaction.ts'

/** The tag of one transaction: sql`select …`, and its helpers. */
export type TenantSql = postgres.ISql

/**
 * Runs a read in the tenant of the principal, with a pool of postgres.js: your guarded tables show that tenant's rows and no
 * other. One round trip for the first statement, and one to end. Throws TenantRefused when the session is no longer live. Send only
 * statements in `work`: it starts before the database has checked the session.
 */
export const readInTenant = <T>(
  sql: postgres.Sql,
  principal: Pick<AnyPrincipal, 'proof'>,
  work: (sql: TenantSql) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => transaction(sql, { ...options, mode: 'read only', principal, permission: null }, work)

/**
 * Runs a write in the tenant of the principal, as `readInTenant` does. The database locks and checks session, permission and step-up
 * again: nothing commits after a revocation was confirmed. Throws TenantRefused then.
 */
export const writeInTenant = <T>(
  sql: postgres.Sql,
  principal: Pick<AnyPrincipal, 'proof'>,
  permission: Permission,
  work: (sql: TenantSql) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => transaction(sql, { ...options, mode: 'read write', principal, permission }, work)

/** Members of `sql` that use another connection, where no tenant is set. The types hide them; plain JavaScript does not. */
const OUTSIDE: ReadonlySet<string | symbol> = new Set([
  'begin',
  'reserve',
  'listen',
  'notify',
  'subscribe',
  'end',
  'close',
])

/** What `sql.begin` of postgres.js uses of a connection. Its types do not name it. */
interface Connection {
  /** Returns whether another query may follow before the response. */
  execute: (query: Query) => unknown
  /** Called when the server waits for a query in the transaction. postgres.js clears it when the transaction ends. */
  reserved: (() => void) | null
  onclose: ((error: Error) => void) | null
}

/** A query of postgres.js, which is sent when somebody awaits it. */
interface Query {
  handler: (query: Query) => void
  reject: (error: Error) => void
}

const isQuery = (value: unknown): value is Query => value instanceof Promise && 'handler' in value

// `sql.begin` waits for the response to BEGIN, and cannot clean. `sql.reserve` hangs after the server ended a connection (3.4.9).
async function transaction<T>(sql: postgres.Sql, entry: Entry, work: (sql: TenantSql) => Promise<T>): Promise<T> {
  const waiting: Query[] = []
  let connection: Connection | null = null
  let isReady = false
  let end: Error | null = null
  const endWith = (error: Error): void => {
    end ??= error
    for (const query of waiting.splice(0)) query.reject(end)
  }
  const next = (): void => {
    isReady = true
    // `send` puts a query back when the connection is busy.
    for (const query of waiting.splice(0)) send(query)
  }
  const send = (query: Query): void => {
    if (end === null && connection !== null && connection.reserved !== next)
      endWith(new Error('a statement ended the transaction'))
    if (end !== null) query.reject(end)
    else if (isReady && connection !== null) isReady = Boolean(connection.execute(query))
    else waiting.push(query)
  }
  const onexecute = (used: Connection): false => {
    connection = used
    Object.assign(used, { reserved: next, onclose: endWith })
    queueMicrotask(next)
    // So the pool gives the connection to nobody else.
    return false
  }
  const inTransaction = <Result>(query: Result): Result => {
    if (isQuery(query)) query.handler = send
    return query
  }
  const tag = new Proxy(sql, {
    apply: (of, self, args) => inTransaction(Reflect.apply(of, self, args)),
    get: (of, name) => {
      if (OUTSIDE.has(name)) throw new Error(`sql.${String(name)} would leave the tenant's transaction`)
      const member: unknown = Reflect.get(of, name)
      if ((name !== 'unsafe' && name !== 'file') || typeof member !== 'function') return member
      return (...args: unknown[]): unknown => inTransaction(Reflect.apply(member, of, args))
    },
  })
  const begin = (text: string) => sql.unsafe(text, [], Object({ onexecute })).execute()
  const control = async (text: string): Promise<string[]> => {
    // Each is sent now, and not when somebody awaits it.
    if (!text.startsWith('begin')) return commandsOf(await tag.unsafe(text).execute())
    try {
      // A new connection may reject its first query, unsent, with the error that ended the former one.
      return commandsOf(
        await begin(text).catch((error: unknown) => (connection === null ? begin(text) : Promise.reject(error))),
      )
    } catch (error) {
      endWith(error instanceof Error ? error : new Error('the transaction could not begin', { cause: error }))
      throw error
    }
  }
  const enter = (proof: Uint8Array, permission: string | null, stepUpSeconds: number | null) =>
    tag`select app.enter(${proof}, ${permission}, ${stepUpSeconds})`.execute()
  try {
    return await inTenant({ sql: tag, control, enter }, entry, work)
  } finally {
    endWith(new Error('a statement was run after the end of its transaction'))
  }
}

/** The commands of the statements in a message. */
const commandsOf = (results: object): string[] => [results].flat(1).map((result) => String(Object(result).command))
