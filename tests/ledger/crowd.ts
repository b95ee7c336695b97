import postgres from 'postgres'
import { urlFor } from '#infra/local/postgres/database.ts'
import type { Server } from './server.ts'

/** Who takes the connections: clients that hold every slot, or a limit of the database. */
export type Crowd = 'slots' | 'limit'

const END_ALL = `select pg_terminate_backend(pid) from pg_stat_activity
                  where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name <> 'crowd'`

/** Leaves the service no connection. Returns how they become free. */
export async function crowdConnections(server: Server, how: Crowd): Promise<() => Promise<void>> {
  if (how === 'limit') {
    await server.look(async (sql) => {
      await sql`alter database tenantry connection limit 0`
      await sql.unsafe(END_ALL)
    })
    return () => server.look(async (sql) => void (await sql`alter database tenantry connection limit -1`))
  }
  // Not a superuser: some slots are reserved for those, and we need one to free the others.
  const url = await server.look(async (sql) => {
    // An earlier round of a soak has left it.
    const [found] = await sql`select from pg_roles where rolname = 'crowd'`
    if (found === undefined) await sql`create role crowd login password 'crowd'`
    await sql`grant connect on database tenantry to crowd`
    return urlFor(server.url, { user: 'crowd', password: 'crowd' })
  })
  const clients: postgres.Sql[] = []
  const join = async (): Promise<boolean> => {
    const client = postgres(url, {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: 'crowd' },
    })
    clients.push(client)
    return client`select`.then(
      () => true,
      () => false,
    )
  }
  // The service's connections end while others wait for their slots.
  for (let isFull = false; !isFull; ) {
    await server.look((sql) => sql.unsafe(END_ALL))
    const joined = await Promise.all(Array.from({ length: 50 }, join))
    isFull = joined.includes(false)
  }
  return async () => {
    await Promise.all(clients.map((client) => client.end({ timeout: 1 })))
  }
}
