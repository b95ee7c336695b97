import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import * as v from 'valibot'
import { readSecret, type SecretVersion } from '#shared/secret/secrets-manager.ts'

/** Where a role signs in, and with what: a secret in the shape that the rotation of RDS secrets reads and writes. */
export const Login = v.object({
  host: v.string(),
  port: v.pipe(v.union([v.number(), v.string()]), v.transform(Number), v.integer()),
  dbname: v.string(),
  username: v.string(),
  password: v.string(),
})

export type Login = v.InferOutput<typeof Login>

/** Reads a login, anew for each connection: passwords are rotated under a warm Lambda. */
export type ReadLogin = (version: SecretVersion) => Promise<Login>

/** Reads a login from Secrets Manager. `host` is set where a proxy stands before the server that the secret names. */
export const secretLogin =
  (secretId: string, host: string | null): ReadLogin =>
  async (version) => {
    const login = await readSecret(secretId, Login, { version })
    return host === null ? login : { ...login, host }
  }

/** How a connection is secured. `caFile`: certificates to trust besides those that Node trusts; '' for none. */
export interface TlsOptions {
  readonly tls: 'verify-full' | 'disable'
  readonly caFile: string
}

/** Null for connections without TLS. Reads and parses the certificates, so make it once. */
export function trustFor({ tls, caFile }: TlsOptions): SecureContext | null {
  if (tls === 'disable') return null
  const extra = caFile === '' ? [] : [readFileSync(caFile, 'utf8')]
  return createSecureContext({ ca: [...rootCertificates, ...extra] })
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * The options of a client. Without trust it connects to this machine alone, else it throws; with it, the server's
 * certificate must be signed by somebody trusted and name the host.
 */
export function clientOptions({ host, port, dbname, username, password }: Login, trust: SecureContext | null) {
  if (trust === null && !LOOPBACK.has(host)) throw new Error('DATABASE_TLS=disable is for this machine alone')
  // The library hands `ssl` to tls.connect, which compares the certificate with its `host` when that is an address.
  return {
    host,
    port,
    database: dbname,
    username,
    password,
    ssl: trust === null ? false : { secureContext: trust, host },
  }
}
