import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

// Postgres's own default. A generated password has too many values to try, whatever the count.
const ITERATIONS = 4096
const SALT_BYTES = 16
const HASH_BYTES = 32

/**
 * Returns what Postgres stores for a password: the verifier of SCRAM-SHA-256 (RFC 5803). ALTER ROLE accepts it in place of the
 * password, so that no statement, statistic or log of the server contains the password. Requires an ASCII password.
 */
export function scramVerifier(password: string, salt = randomBytes(SALT_BYTES)): string {
  // RFC 4013 could change other characters before they are hashed.
  if (!/^[\x20-\x7e]+$/.test(password)) throw new Error('a database password must be printable ASCII')
  const salted = pbkdf2Sync(password, salt, ITERATIONS, HASH_BYTES, 'sha256')
  const keyed = (label: string) => createHmac('sha256', salted).update(label).digest()
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`
}
