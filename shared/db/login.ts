import * as v from 'valibot'
import { readSecret, type SecretVersion } from '#shared/secret/secrets-manager.ts'

/** Where a role signs in, and with what: a secret in the shape that the rotation of RDS secrets reads and writes. */
export const Login = v.object({
  engine: v.literal('postgres'),
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
