import { countMetric } from '#shared/base/metrics.ts'
import { invalid, type Problem, unavailable } from '#shared/base/problem.ts'
import { unseal, witnessOf } from '#shared/factor/factor-key.ts'
import { acceptedStep, secretBytes } from '#shared/factor/totp.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { limitOn } from '#shared/http/limit-by.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { clientNetwork, type Limit } from '#shared/rate-limit/limit.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { FactorKey } from '#shared/secret/token-secrets.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import type { CodeLimits, CodeProof, Refusable, ShownApp } from './factor-queries.ts'
import { networkHash } from './login-limits.ts'

const WINDOW_SECONDS = 900

interface Asked {
  readonly client: ClientInfo
  readonly runtime: Pick<RuntimeFor<'pepper'>, 'config' | 'pepper'>
}

/** The limits of codes of an app. */
export const codeLimits = ({ client, runtime: { config, pepper } }: Asked): CodeLimits => ({
  network: networkHash({ client, pepper }),
  limit: config.factor.limit,
  windowSeconds: WINDOW_SECONDS,
  dayLimit: config.factor.dayLimit,
})

/** The limit of recovery codes and passkeys. */
export const recoveryLimit = ({ client, runtime: { config, pepper } }: Asked): Limit =>
  limitOn('second-factor-ip', { pepper }, clientNetwork(client.ip), {
    limit: config.factor.ipLimit,
    windowSeconds: WINDOW_SECONDS,
  })

/** Returns the 429 of the limit that refused an attempt. */
export function limitReached(
  { refused_by: name, retry_after_seconds: retryAfterSeconds }: Refusable,
  asked: Asked,
): Problem {
  const { limit, dayLimit, ipLimit } = asked.runtime.config.factor
  const limits: Readonly<Record<string, Omit<Limit, 'subject'>>> = {
    'second-factor': { name: 'second-factor', limit, windowSeconds: WINDOW_SECONDS },
    'second-factor-day': { name: 'second-factor-day', limit: dayLimit, windowSeconds: 86_400 },
    'second-factor-ip': { name: 'second-factor-ip', limit: ipLimit, windowSeconds: WINDOW_SECONDS },
    'factor-setup': { name: 'factor-setup', limit: 10, windowSeconds: WINDOW_SECONDS },
  }
  const found = limits[name ?? '']
  if (found === undefined) throw new Error(`unknown limit ${name}`)
  return rateLimited({ limit: found, retryAfterSeconds })
}

const REJECTED = {
  code: 'wrong-code',
  recovery_code: 'wrong-code',
  setup_code: 'wrong-code',
  password: 'wrong-password',
  credential: 'wrong-passkey',
} as const

/** A 422 of a proof that is wrong, was used already or has expired. */
export const factorRejected = (field: keyof typeof REJECTED): Problem => {
  countMetric('SecondFactorFailed', field)
  return invalid([{ pointer: `#/${field}`, code: REJECTED[field] }], 'factor-rejected')
}

/** Runs `work` with the factor key. Throws a 503 when a sealed secret does not open. */
export function withFactorKey<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error
    countMetric('FactorSealFailed')
    throw unavailable(error)
  }
}

/** Returns the proof of a code of an app, or null when the code is wrong or was used already. Throws a 503 when the secret does not open. */
export const provenCode = (keys: FactorKey, code: string, userId: string, app: ShownApp): CodeProof | null =>
  withFactorKey(() => {
    const { factor_id: factorId, key_id: keyId } = app
    const secret = unseal(keys, { sealed: app.sealed_secret, keyId }, { userId, rowId: factorId, field: 'totp-secret' })
    const step = acceptedStep(secretBytes(secret), code, Number(app.at), Number(app.last_step))
    return step === null ? null : { factorId, step, witness: witnessOf(keys, { factorId, keyId }) }
  })
