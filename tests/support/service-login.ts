import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'

/** The login of another service on the database, as a member of tenant_bound. */
export interface ServiceLogin {
  readonly role: string
  readonly url: string
}

/** Creates a login. Roles belong to the cluster, so the test drops it. */
export async function createServiceLogin(admin: postgres.Sql, databaseUrl: string): Promise<ServiceLogin> {
  const role = `service_${randomUUID().replaceAll('-', '')}`
  await admin.unsafe(`create role ${role} login password 'service'; grant tenant_bound to ${role} with inherit true`)
  const url = new URL(databaseUrl)
  url.username = role
  url.password = 'service'
  return { role, url: url.href }
}
