import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { SERVICE_SCOPES, type ServiceScope } from '#shared/identity/service-key.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { PEPPER } from './settings.ts'

export interface ServiceKey {
  readonly name: string
  readonly secret: string
  /** The value of `Authorization`. */
  readonly authorization: string
}

/** Returns the value of `Authorization` for a name and a secret, each encoded as in a form. */
export const basic = (name: string, secret: string): string =>
  `Basic ${btoa(`${encodeURIComponent(name)}:${encodeURIComponent(secret)}`)}`

/** Inserts a valid key of a new service, with all scopes unless it names some. */
export async function mintServiceKey(
  admin: postgres.Sql,
  { pepper = PEPPER, scopes = SERVICE_SCOPES }: { pepper?: string; scopes?: readonly ServiceScope[] } = {},
): Promise<ServiceKey> {
  const secret = newToken()
  const name = `service-${randomUUID()}`
  await admin`
    insert into app.service_keys (name, key_hash, scopes, created_by, created_reason)
    values (${name}, ${hashToken(pepper, secret)}, ${[...scopes]}, 'a test', 'a test')`
  return { name, secret, authorization: basic(name, secret) }
}
