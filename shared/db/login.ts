import { readFileSync } from 'node:fs'
import { isIP, Socket } from 'node:net'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import * as v from 'valibot'
import { readSecret, type SecretVersion } from '#shared/secret/secrets-manager.ts'

/** The login of a database role: a secret in the format that the rotation of RDS secrets reads and writes. */
export const Login = v.object({
  host: v.string(),
  port: v.pipe(v.union([v.number(), v.string()]), v.transform(Number), v.integer()),
  dbname: v.string(),
  username: v.string(),
  password: v.string(),
})

export type Login = v.InferOutput<typeof Login>

/** Reads a login. Called for each connection, since passwords are rotated while a Lambda is warm. */
export type ReadLogin = (version: SecretVersion) => Promise<Login>

/** Reads a login from Secrets Manager. `host` replaces the secret's host, for a proxy in front of the server. */
export const secretLogin =
  (secretId: string, host: string | null): ReadLogin =>
  async (version) => {
    const login = await readSecret(secretId, Login, { version })
    return host === null ? login : { ...login, host }
  }

/** How a connection is secured. `caFile` has certificates to trust in addition to Node's; '' for none. */
export interface TlsOptions {
  readonly tls: 'verify-full' | 'disable'
  readonly caFile: string
}

/** Returns null for connections without TLS. Reads and parses the certificates, so call it once. */
export function trustFor({ tls, caFile }: TlsOptions): SecureContext | null {
  if (tls === 'disable') return null
  const extra = caFile === '' ? [] : [readFileSync(caFile, 'utf8')]
  return createSecureContext({ ca: [...rootCertificates, ...extra] })
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Returns the options of a client. With `trust`, the server's certificate must name the host and be signed by a trusted
 * authority. Throws when `trust` is null and the host is not this machine.
 */
export function clientOptions({ host, port, dbname, username, password }: Login, trust: SecureContext | null) {
  if (trust === null && !LOOPBACK.has(host)) throw new Error('DATABASE_TLS=disable is for servers on this machine only')
  // The library hands `ssl` to tls.connect, which compares the certificate with its `host` when that is an address.
  return {
    host,
    port,
    database: dbname,
    username,
    password,
    ssl: trust === null ? false : { secureContext: trust, host, ...(isIP(host) === 0 ? { servername: host } : {}) },
    socket: () => socketTo(host, port),
  }
}

/**
 * Returns a socket that connects in a moment. It sends without delay: by default, the system would hold a commit back until the
 * server has acknowledged the packet before it.
 */
function socketTo(host: string, port: number): Socket {
  const socket = new Socket().setNoDelay(true)
  // The library listens for errors by then.
  setImmediate(() => socket.connect(port, host))
  return socket
}
