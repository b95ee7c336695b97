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

/** What the secrets of the stack say of that user. */
interface Secured {
  readonly pepper: string
  readonly factorKey: string
  readonly totpSecret: string
  readonly recoveryCodes: readonly string[]
}

/** Adds an admin of acme-print who has an authenticator app and recovery codes, unless they exist. Returns the second factor. */
export async function seedSecured(sql: postgres.Sql, secured: Secured, cost: Cost): Promise<LocalSecondFactor> {
  const { pepper, factorKey, totpSecret, recoveryCodes } = secured
  const passwordHash = await hashPassword(SEED_PASSWORD, cost)
  await sql.begin(async (tx) => {
    const [user] = await tx<{ id: string }[]>`
      insert into app.users (email, full_name, password_hash, email_verified_at)
      values (${SECURED}, 'Secured Acme', ${passwordHash}, now()) on conflict do nothing returning id`
    if (user === undefined) return
    await tx`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, ${user.id}, r.id, now() from app.tenants t, app.roles r where t.slug = 'acme-print' and r.code = 'admin'`
    const factorId = randomUUID()
    const { sealed, keyId } = seal({ factorKey }, totpSecret, {
      userId: user.id,
      rowId: factorId,
      field: 'totp-secret',
    })
    const witnessHash = createHash('sha256').update(witnessOf({ factorKey }, { factorId, keyId })).digest()
    await tx`
      insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
      values (${factorId}, ${user.id}, 'totp', 'Authenticator app', ${keyId}, ${witnessHash}, ${sealed}, 0)`
    for (const code of recoveryCodes) {
      const [hash] = factorCodeHashes({ pepper }, user.id, code)
      await tx`
        insert into app.tokens (token_hash, purpose, user_id, expires_at) values (${hash}, 'recovery_code', ${user.id}, 'infinity')`
    }
  })
  return { email: SECURED, totp_secret: totpSecret, recovery_codes: recoveryCodes }
}
