import { sourceValue } from '#shared/db/composite.ts'
import type { Run } from '#shared/db/run.ts'
import { keyIdOf } from '#shared/factor/factor-key.ts'
import { resealFactor, type SealedFactor } from '#shared/factor/reseal.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { FactorKey } from '#shared/secret/token-secrets.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import type { FactorCommand, Outcome } from './commands.ts'
import type { Instruction } from './instruction.ts'

const BATCH = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Work on the second factors of users. Each step commits by itself, so the work may stop after any step. */
interface FactorWork extends Instruction {
  /** Returns whether too little time is left for another step. The caller then runs the work again. */
  readonly shouldStop: () => boolean
}

type Runtime = RuntimeFor<'database:operator' | 'factor-key'>

/** Runs an operator's command on the second factors of users. It shows no secret. */
export async function operateFactors(runtime: Runtime, command: FactorCommand, work: FactorWork): Promise<Outcome> {
  const { sql } = runtime.database
  switch (command.command) {
    case 'show-second-factor':
      return showFactors(sql, runtime, command.email)
    case 'reset-second-factor':
      return requestReset(sql, command.email, runtime.config.factor.resetHours, work)
    case 'cancel-second-factor-reset':
      return cancelReset(sql, command.email, work)
    case 'reseal-factors':
      return { done: await resealAll(sql, runtime, work) }
    case 'expire-recovery-codes':
      return { done: await voidCodes(sql, command['created-before'], work) }
  }
}

interface FactorRow {
  readonly user_id: string
  readonly kind: string | null
  readonly created_at: string
  readonly last_used_at: string | null
  readonly wrong_codes: number
  readonly key_id: string
  readonly codes_left: number
  readonly codes_created_at: string | null
  readonly reset_requested_at: string | null
  readonly reset_effective_at: string | null
}

const NO_USER: Outcome = { refused: 'There is no user with this email' }

/** Who gave a command and why, for its audit entries. */
const afterOf = ({ operator, reason }: Instruction): string => JSON.stringify({ operator, reason })

async function showFactors(sql: Run, { factorKey }: FactorKey, email: string): Promise<Outcome> {
  const rows = await sql<FactorRow>`select * from app.factors_of_email(${email})`
  const [first] = rows
  if (first === undefined) return NO_USER
  const factors = rows
    .filter(({ kind }) => kind !== null)
    .map(({ key_id: keyId, kind, created_at, last_used_at, wrong_codes }) => ({
      kind,
      created_at,
      last_used_at,
      wrong_codes,
      under_current_key: keyId === keyIdOf(factorKey),
    }))
  const { user_id, codes_left, codes_created_at, reset_requested_at, reset_effective_at } = first
  // Without a time, the reset waits for an operator.
  const reset =
    reset_requested_at === null ? null : { requested_at: reset_requested_at, effective_at: reset_effective_at }
  return {
    done: { user_id, factors, recovery_codes_left: codes_left, recovery_codes_created_at: codes_created_at, reset },
  }
}

/** Requests a reset, or confirms the one that a manager requested. */
async function requestReset(sql: Run, email: string, hours: number, work: FactorWork): Promise<Outcome> {
  const [row] = await sql<{ user_id: string; has_factor: boolean; effective_at: string | null }>`
    select * from app.operate_factor_reset(
      ${email}, ${hours}, ${afterOf(work)}::text::jsonb, ${sourceValue({ requestId: work.requestId })}::app.source)`
  if (row === undefined) return NO_USER
  if (!row.has_factor) return { refused: 'The user has no second factor' }
  return { done: { user_id: row.user_id, effective_at: row.effective_at } }
}

async function cancelReset(sql: Run, email: string, work: FactorWork): Promise<Outcome> {
  const [row] = await sql<{ user_id: string; cancelled: boolean }>`
    select * from app.operate_reset_cancellation(
      ${email}, ${afterOf(work)}::text::jsonb, ${sourceValue({ requestId: work.requestId })}::app.source)`
  return row === undefined ? NO_USER : { done: { ...row } }
}

async function resealAll(sql: Run, keys: FactorKey, { shouldStop }: FactorWork) {
  const unopened: string[] = []
  let resealed = 0
  for (let after = FIRST_ID; ; ) {
    const apps = await sql<SealedFactor & { user_id: string }>`
      select * from app.factors_under_other_keys(${keyIdOf(keys.factorKey)}, ${after}, ${BATCH})`
    for (const app of apps) {
      if (shouldStop()) return { resealed, unopened, finished: false }
      try {
        if (await resealFactor(sql, keys, app.user_id, app)) resealed += 1
      } catch (error) {
        if (!(error instanceof DecryptionFailed)) throw error
        unopened.push(app.user_id)
      }
      after = app.factor_id
    }
    if (apps.length < BATCH) return { resealed, unopened, finished: true }
  }
}

async function voidCodes(sql: Run, createdBefore: string, work: FactorWork) {
  const { requestId, shouldStop } = work
  const after = afterOf(work)
  let users = 0
  while (!shouldStop()) {
    const [row] = await sql<{ voided: number }>`
      select app.void_recovery_codes(
        ${createdBefore}::text::timestamptz, ${after}::text::jsonb, ${BATCH}, ${sourceValue({ requestId })}::app.source) as voided`
    const voided = row?.voided ?? 0
    users += voided
    if (voided < BATCH) return { users, finished: true }
  }
  return { users, finished: false }
}
