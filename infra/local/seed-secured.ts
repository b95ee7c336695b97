import { createHash, randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { factorCodeHashes } from '#shared/factor/code.ts'
import { seal, witnessOf } from '#shared/factor/factor-key.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { SEED_PASSWORD } from './seed.ts'

export const SECURED = 'secured@acme.test'

/** The second factor of the one user of the stack who has one. */
export interface LocalSecondFactor {
  readonly email: string
  /** In base32, as authenticator apps take it. */
  readonly totp_secret: string
  readonly recovery_codes: readonly string[]
}

/** A second factor, and the secrets of the stack that it is stored with. */
interface Secured {
  readonly pepper: string
  readonly factorKey: string
  /** In base32. */
  readonly totpSecret: string
  readonly recoveryCodes: readonly string[]
}

/** Gives a user an authenticator app that was never used, and recovery codes. */
export async function addSecondFactor(
  sql: postgres.ISql,
  userId: string,
  { pepper, factorKey, totpSecret, recoveryCodes }: Secured,
): Promise<void> {
  const factorId = randomUUID()
  const { sealed, keyId } = seal({ factorKey }, totpSecret, { userId, rowId: factorId, field: 'totp-secret' })
  const witnessHash = createHash('sha256').update(witnessOf({ factorKey }, { factorId, keyId })).digest()
  await sql`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    values (${factorId}, ${userId}, 'totp', 'Authenticator app', ${keyId}, ${witnessHash}, ${sealed}, 0)`
  for (const code of recoveryCodes) {
    const [hash] = factorCodeHashes({ pepper }, userId, code)
    await sql`
      insert into app.tokens (token_hash, purpose, user_id, expires_at) values (${hash}, 'recovery_code', ${userId}, 'infinity')`
  }
}

/** Adds an admin of acme-print who has an authenticator app and recovery codes, unless they exist. Returns the second factor. */
export async function seedSecured(sql: postgres.Sql, secured: Secured, cost: Cost): Promise<LocalSecondFactor> {
  const passwordHash = await hashPassword(SEED_PASSWORD, cost)
  await sql.begin(async (tx) => {
    const [user] = await tx<{ id: string }[]>`
      insert into app.users (email, full_name, password_hash, email_verified_at)
      values (${SECURED}, 'Secured Acme', ${passwordHash}, now()) on conflict do nothing returning id`
    if (user === undefined) return
    await tx`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, ${user.id}, r.id, now() from app.tenants t, app.roles r where t.slug = 'acme-print' and r.code = 'admin'`
    await addSecondFactor(tx, user.id, secured)
  })
  return { email: SECURED, totp_secret: secured.totpSecret, recovery_codes: secured.recoveryCodes }
}
