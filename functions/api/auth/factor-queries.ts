import type { RequestSource } from '#shared/schema/client.ts'
import type { TicketRun } from '#shared/db/calls.ts'
import { limitValue, sourceValue } from '#shared/db/composite.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { Factor } from './factor.ts'
import { type PasskeyProof, passkeyValue } from './passkey-value.ts'

/** An app as the database shows it after it has counted a code. `at` is its time in seconds since 1970. */
export interface ShownApp {
  readonly factor_id: string
  readonly key_id: string
  readonly sealed_secret: Uint8Array
  readonly last_step: string
  readonly at: string
}

/** The limits of a user's codes: see app.count_code. */
export interface CodeLimits {
  readonly network: Buffer
  readonly limit: number
  readonly windowSeconds: number
  readonly dayLimit: number
}

/** A right code of an app. Only code with the factor key can compute the witness. */
export interface CodeProof {
  readonly factorId: string
  readonly step: number
  readonly witness: Buffer
}

/** A limit that refused an attempt, or a row of what was asked. */
export interface Refusable {
  readonly refused_by: string | null
  readonly retry_after_seconds: number
}

/** The times of a session that has stepped up, or why it did not. */
export interface SteppedSession extends Refusable {
  readonly idle_expires_at: string
  readonly absolute_expires_at: string
  readonly second_factor_at: string | null
  readonly stepped_up_at: string | null
}

/** Counts a code, and returns the app of the ticket's user, a row of nulls without one that works, or the limit that refuses. */
export async function lookAtOwnApp(
  call: TicketRun,
  ticket: Ticket,
  { network, limit, windowSeconds, dayLimit }: CodeLimits,
): Promise<(Refusable & (ShownApp | { readonly factor_id: null })) | undefined> {
  const [row] = await ticket.present(
    (bytes) => call<Refusable & (ShownApp | { readonly factor_id: null })>`
      select * from app.look_at_own_app(${bytes}, ${network}, ${limit}, ${windowSeconds}, ${dayLimit})`,
  )
  return row
}

/** Steps up the session of a ticket by one proof, and gives it another token. Refused by `proof` when nothing proves it. */
export async function stepUp(
  call: TicketRun,
  ticket: Ticket,
  given: {
    readonly digest: Buffer | null
    readonly code: CodeProof | null
    readonly recoveryCode: TokenHashes | null
    readonly passkey: PasskeyProof | null
    readonly networkLimit: Limit
    readonly tokenHash: Buffer
    readonly pendingSeconds: number
    readonly source: RequestSource
  },
): Promise<SteppedSession | undefined> {
  const { code } = given
  const [hash, previous] = given.recoveryCode ?? [null, null]
  const [row] = await ticket.present(
    (bytes) => call<SteppedSession>`
      select * from app.step_up(
        ${bytes}, ${given.digest}, ${code?.factorId ?? null}, ${code?.step ?? null}, ${code?.witness ?? null}, ${hash}, ${previous},
        ${limitValue(given.networkLimit)}::app.limit, ${given.tokenHash}, ${given.pendingSeconds}, ${sourceValue(given.source)}::app.source,
        ${passkeyValue(given.passkey)}::app.passkey_proof)`,
  )
  return row
}

type OwnFactorRow = (Factor | { readonly id: null }) & {
  readonly codes_left: number
  readonly codes_created_at: string | null
}

/** Returns the factors of the ticket's user with what is left of the recovery codes. No rows: the session is no longer live. */
export const ownFactors = (call: TicketRun, ticket: Ticket, rpId: string | undefined): Promise<OwnFactorRow[]> =>
  ticket.present(
    (bytes) => call<OwnFactorRow>`
      select id, kind, name, created_at, last_used_at, synced, usable, codes_left, codes_created_at
        from app.own_factors(${bytes}, ${rpId ?? null})`,
  )

/** Returns the open reset of the user's second factor, or null. */
export async function ownReset(
  call: TicketRun,
  ticket: Ticket,
): Promise<{ requested_at: string; effective_at: string | null } | null> {
  const [row] = await ticket.present(
    (bytes) => call<{ requested_at: string; effective_at: string | null }>`select * from app.own_reset(${bytes})`,
  )
  return row ?? null
}

/** Makes a draft in place of an earlier one. Returns when it expires. */
export async function makeDraft(
  call: TicketRun,
  ticket: Ticket,
  draft: { id: string; sealed: Buffer; stepUpSeconds: number },
): Promise<string> {
  const [row] = await ticket.present(
    (bytes) => call<{ expires_at: string }>`
      select app.make_draft(${bytes}, ${draft.id}, ${draft.sealed}, ${draft.stepUpSeconds}) as expires_at`,
  )
  if (row === undefined) throw new Error('app.make_draft returned no row')
  return row.expires_at
}

export interface DraftRow {
  readonly id: string
  readonly sealed: Uint8Array
  readonly expires_at: string
  /** The database's time in seconds since 1970. */
  readonly at: string
}

/** Returns the open draft that the session made, or null. */
export async function ownDraft(call: TicketRun, ticket: Ticket, stepUpSeconds: number): Promise<DraftRow | null> {
  const [row] = await ticket.present((bytes) => call<DraftRow>`select * from app.own_draft(${bytes}, ${stepUpSeconds})`)
  return row ?? null
}

/** Returns hashes in hex, with a comma between them. */
export const hexOf = (hashes: readonly Buffer[]): string => hashes.map((hash) => hash.toString('hex')).join()

/** Adds or replaces the app of the ticket's user by a draft. Returns why it was refused: see app.add_app. */
export async function addApp(
  call: TicketRun,
  ticket: Ticket,
  given: {
    readonly draftId: string
    readonly factorId: string
    readonly sealed: Buffer
    readonly keyId: string
    readonly witnessHash: Buffer
    readonly step: number
    readonly codes: readonly Buffer[] | null
    readonly setupCode: TokenHashes | null
    readonly tokenHash: Buffer
    readonly pendingSeconds: number
    readonly stepUpSeconds: number
    readonly source: RequestSource
  },
): Promise<SteppedSession | undefined> {
  const [setup, previous] = given.setupCode ?? [null, null]
  const [row] = await ticket.present(
    (bytes) => call<SteppedSession>`
      select * from app.add_app(
        ${bytes}, ${given.draftId}, ${given.factorId}, ${given.sealed}, ${given.keyId}, ${given.witnessHash}, ${given.step},
        ${given.codes === null ? null : hexOf(given.codes)}, ${setup}, ${previous}, ${given.tokenHash}, ${given.pendingSeconds},
        ${given.stepUpSeconds}, ${sourceValue(given.source)}::app.source)`,
  )
  return row
}

/** Renames a factor of the user and returns it, or null for another id. */
export async function renameFactor(
  call: TicketRun,
  ticket: Ticket,
  { id, name, rpId }: { id: string; name: string; rpId: string | undefined },
): Promise<Factor | null> {
  const [row] = await ticket.present(
    (bytes) => call<Factor>`
      select f.id, f.kind, f.name, f.created_at, f.last_used_at, coalesce(f.backed_up, false) as synced,
             f.kind = 'totp' or f.rp_id is not distinct from here.rp_id as usable
        from app.rename_factor(${bytes}, ${id}, ${name}) f cross join (select ${rpId ?? null}::text) as here (rp_id)`,
  )
  return row ?? null
}

/** Removes a factor of the user. Returns false for another id. */
export async function removeFactor(
  call: TicketRun,
  ticket: Ticket,
  { id, stepUpSeconds, source }: { id: string; stepUpSeconds: number; source: RequestSource },
): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => call<{ removed: boolean }>`
      select app.remove_factor(${bytes}, ${id}, ${stepUpSeconds}, ${sourceValue(source)}::app.source) as removed`,
  )
  return row?.removed ?? false
}

/** Replaces the recovery codes by those of a draft. Returns false when the draft is gone, or the user has no factor. */
export async function renewRecoveryCodes(
  call: TicketRun,
  ticket: Ticket,
  given: { draftId: string; codes: readonly Buffer[]; stepUpSeconds: number; source: RequestSource },
): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => call<{ renewed: boolean }>`
      select app.renew_recovery_codes(
        ${bytes}, ${given.draftId}, ${hexOf(given.codes)}, ${given.stepUpSeconds}, ${sourceValue(given.source)}::app.source) as renewed`,
  )
  return row?.renewed ?? false
}

/** Mails a setup code, unless the user has a factor. Returns the seconds until the limit of mails allows one, or null. */
export async function requestSetupCode(
  call: TicketRun,
  ticket: Ticket,
  given: { nonce: string; limit: number; stepUpSeconds: number },
): Promise<number | null> {
  const [row] = await ticket.present(
    (bytes) => call<{ wait_seconds: number | null }>`
      select app.request_setup_code(${bytes}, ${given.nonce}, ${given.limit}, ${given.stepUpSeconds}) as wait_seconds`,
  )
  return row?.wait_seconds ?? null
}
