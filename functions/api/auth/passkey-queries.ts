import { composite, limitValue, sourceValue } from '#shared/db/composite.ts'
import type { TicketRun } from '#shared/db/calls.ts'
import type { Call } from '#shared/db/connect.ts'
import type { SentChallenge } from '#shared/factor/challenge.ts'
import type { NewPasskey } from '#shared/factor/passkey.ts'
import type { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { type LiveSessionRow, sessionOf, userOf } from '#shared/identity/session-queries.ts'
import type { Session } from '#shared/identity/session.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import type { User } from '#shared/identity/user.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import { deviceOf } from '#shared/schema/device.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { FactorMethod } from './factor.ts'
import { hexOf, type Refusable, type SteppedSession } from './factor-queries.ts'
import { type PasskeyProof, passkeyValue, type StoredPasskey } from './passkey-value.ts'

/** Counts an attempt, and returns the passkey of this id, or the limit that refuses. Null: there is none. */
export async function findPasskey(
  call: Call,
  credentialId: Buffer,
  networkLimit: Limit,
): Promise<(Refusable & StoredPasskey) | null> {
  const [row] = await call<Refusable & StoredPasskey>`
    select *, null as sealed_secret from app.find_passkey(${credentialId}, ${limitValue(networkLimit)}::app.limit)`
  return row ?? null
}

/** Counts an attempt, and returns the ticket's user's passkey of this id, or the limit that refuses. Null: there is none. */
export async function lookAtOwnPasskey(
  call: TicketRun,
  ticket: Ticket,
  credentialId: Buffer,
  networkLimit: Limit,
): Promise<(Refusable & StoredPasskey) | null> {
  const [row] = await ticket.present(
    (bytes) => call<Refusable & StoredPasskey>`
      select *, null as sealed_secret
        from app.look_at_own_passkey(${bytes}, ${credentialId}, ${limitValue(networkLimit)}::app.limit)`,
  )
  return row ?? null
}

/** An id of a passkey, for a browser. There is a comma between transports. */
export interface CredentialRow {
  readonly credential_id: Uint8Array | null
  readonly transports: string | null
}

/** Returns the passkeys of an open sign-in's user, or a row of nulls. No rows: it is gone. */
export const passkeysOfSignIn = (call: Call, [token, previous]: TokenHashes, rpId: string): Promise<CredentialRow[]> =>
  call.repeatable<CredentialRow>`select * from app.passkeys_of_sign_in(${token}, ${previous}, ${rpId})`

/**
 * Returns the passkeys of the ticket's user that may be used here, how many there are for any address of the front end, and by what the user
 * may prove a second factor. Checks the step-up too, if `stepUpSeconds` is a number.
 */
export async function ownPasskeys(
  call: TicketRun,
  ticket: Ticket,
  { rpId, stepUpSeconds }: { rpId: string; stepUpSeconds: number | null },
): Promise<{ passkeys: readonly CredentialRow[]; count: number; methods: FactorMethod[] }> {
  const rows = await ticket.present(
    (bytes) => call<CredentialRow & { kind: string | null; usable: boolean; codes_left: number }>`
      select kind, usable, codes_left, credential_id, transports from app.own_factors(${bytes}, ${rpId}, ${stepUpSeconds})`,
  )
  const own = rows.filter(({ kind }) => kind === 'passkey')
  const passkeys = own.filter(({ usable }) => usable)
  const methods: readonly [FactorMethod, boolean][] = [
    ['totp', rows.some(({ kind }) => kind === 'totp')],
    ['passkey', passkeys.length > 0],
    ['recovery_code', rows.some(({ codes_left: left }) => left > 0)],
  ]
  return { passkeys, count: own.length, methods: methods.flatMap(([method, has]) => (has ? [method] : [])) }
}

/** Creates a session by a passkey alone. Null: refused. */
export async function signInByPasskey(
  call: Call,
  given: {
    readonly passkey: PasskeyProof
    readonly tokenHash: Buffer
    readonly csrfSecret: CsrfSecret
    readonly network: Buffer
    readonly device: Buffer
    readonly userAgent: string | null
    readonly pendingSeconds: number
    readonly absoluteSeconds: number
    readonly maxPerUser: number
    readonly sentHashes: TokenHashes | null
    readonly source: RequestSource
  },
): Promise<{ session: Session; user: User } | null> {
  const [sent, sentPrevious] = given.sentHashes ?? [null, null]
  const [row] = await given.csrfSecret.present(
    (csrf) => call<LiveSessionRow>`
      select * from app.sign_in_by_passkey(
        ${passkeyValue(given.passkey)}::app.passkey_proof, ${given.tokenHash}, ${csrf}, ${given.network}, ${given.userAgent},
        ${given.pendingSeconds}, ${given.absoluteSeconds}, ${given.maxPerUser}, ${sourceValue(given.source)}::app.source,
        ${sent}, ${sentPrevious}, ${given.device}, ${JSON.stringify(deviceOf(given.userAgent))}::text::jsonb)`,
  )
  return row === undefined ? null : { session: sessionOf(row), user: userOf(row) }
}

/** Adds a passkey to the ticket's user. Returns why it was refused: see app.add_passkey. */
export async function addPasskey(
  call: TicketRun,
  ticket: Ticket,
  given: {
    readonly factorId: string
    readonly name: string
    readonly keyId: string
    readonly witnessHash: Buffer
    readonly passkey: NewPasskey
    readonly transports: readonly string[]
    readonly rpId: string
    readonly challenge: SentChallenge
    readonly draftId: string | null
    readonly codes: readonly Buffer[] | null
    readonly setupCode: TokenHashes | null
    readonly tokenHash: Buffer
    readonly pendingSeconds: number
    readonly stepUpSeconds: number
    readonly source: RequestSource
  },
): Promise<SteppedSession | undefined> {
  const { passkey, challenge } = given
  const [setup, previous] = given.setupCode ?? [null, null]
  const added = composite(
    given.factorId,
    given.name,
    given.keyId,
    given.witnessHash,
    passkey.credentialId,
    passkey.publicKey,
    passkey.algorithm,
    passkey.signCount,
    given.transports.length === 0 ? null : given.transports.join(),
    given.rpId,
    passkey.aaguid,
    passkey.backupEligible,
    passkey.backedUp,
    challenge.key,
    challenge.expiresAt.toISOString(),
  )
  const [row] = await ticket.present(
    (bytes) => call<SteppedSession>`
      select * from app.add_passkey(
        ${bytes}, ${added}::app.new_passkey, ${given.draftId}, ${given.codes && hexOf(given.codes)}, ${setup}, ${previous}, ${given.tokenHash},
        ${given.pendingSeconds}, ${given.stepUpSeconds}, ${sourceValue(given.source)}::app.source)`,
  )
  return row
}
