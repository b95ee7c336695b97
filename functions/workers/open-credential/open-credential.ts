import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import type { Database } from '#shared/db/connect.ts'
import { aliasIn } from '#shared/base/live-alias.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric, metered } from '#shared/base/metrics.ts'
import type { RuntimeSource } from '#shared/lambda/runtime.ts'
import { sentenceOf } from '#shared/schema/fault.ts'
import { ServiceName } from '#shared/base/service-name.ts'
import { isOneLine, text } from '#shared/schema/text.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { secretContext } from '#shared/suppliers/account.ts'
import type { worker } from './worker.ts'
import { readEncryptedSecret, recordOpening, type Request } from './queries.ts'

/** A credential, decrypted for one piece of work with the vendor. */
export interface Credential {
  readonly account_id: string
  readonly account_number: string
  readonly secret: string
  readonly secret_version: number
}

/** The caller has to change its request, or to wait. Its message reaches the caller, and never repeats a value of the request. */
class Refused extends Error {}

class InvalidRequest extends Refused {
  override name = 'InvalidRequest'
}

class UnknownCaller extends Refused {
  override name = 'UnknownCaller'
}

class TooManyRequests extends Refused {
  override name = 'TooManyRequests'
}

// Each message is fixed: those of the parser repeat values.
const Asked = v.strictObject(
  {
    tenant_id: v.pipe(v.string('must be a UUID'), v.uuid('must be a UUID')),
    vendor: v.pipe(
      v.string('must be the code of a vendor'),
      v.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be the code of a vendor'),
      v.maxLength(100, 'must be the code of a vendor'),
    ),
    reason: text({ max: 200, example: 'nightly stock import' }),
    request_id: v.pipe(
      v.string('must be a string'),
      v.nonEmpty('must not be empty'),
      v.maxLength(128, 'must have at most 128 characters'),
      v.check(isOneLine, 'must be one line of text'),
    ),
  },
  'must be present, and no other key',
)

/** Throws a Refused when the event is no request, or its caller has no alias. */
function requestIn(event: unknown, { invokedFunctionArn }: Pick<Context, 'invokedFunctionArn'>): Request {
  const service = aliasIn(invokedFunctionArn)
  if (!v.is(ServiceName, service))
    throw new UnknownCaller('Invoke this function by the alias that has the name of your service')
  const asked = v.safeParse(Asked, event)
  if (!asked.success) {
    const faults = asked.issues.map((issue) => {
      const [key] = issue.path ?? []
      const sentence = sentenceOf(issue)
      return typeof key?.key === 'string' && key.key in Asked.entries ? `${key.key} ${sentence}` : sentence
    })
    throw new InvalidRequest(`The request needs tenant_id, vendor, reason and request_id: ${faults.join('; ')}`)
  }
  const { tenant_id: tenantId, vendor, reason, request_id: requestId } = asked.output
  return { tenantId, vendor, reason, requestId, service }
}

/** Returns null when the tenant is not open, or has no account with this vendor whose secret the vendor did not refuse. */
async function open(database: Database, decrypt: Vault['decrypt'], request: Request): Promise<Credential | null> {
  const { tenantId } = request
  const recorded = await recordOpening(database, request)
  if (recorded === null) return null
  if ('retryAfterSeconds' in recorded) {
    countMetric('RateLimited', 'open-credential')
    const { retryAfterSeconds } = recorded
    throw new TooManyRequests(`The tenant had 60 openings within a minute. Retry after ${retryAfterSeconds} seconds`)
  }
  const { accountId } = recorded
  const encrypted = await readEncryptedSecret(database, { ...recorded, tenantId })
  if (encrypted === null) return null
  const { accountNumber, secretVersion } = encrypted
  const secret = await decrypt(encrypted, secretContext(tenantId, accountId, secretVersion))
  return { account_id: accountId, account_number: accountNumber, secret, secret_version: secretVersion }
}

/** The logger has a field of its own that is called `service`. */
const fieldsOf = (request: Request | null) => ({
  request_id: request?.requestId,
  tenant_id: request?.tenantId,
  caller: request?.service,
})

/**
 * Returns the handler, which only the services named in cdk.json invoke. The audit entry commits before the secret is decrypted,
 * so that it stays when KMS fails.
 */
export const opener = (source: RuntimeSource<(typeof worker)['needs'][number]>, decrypt: Vault['decrypt']) =>
  metered(async (event: unknown, context: Pick<Context, 'invokedFunctionArn'>): Promise<Credential | null> => {
    let request: Request | null = null
    try {
      request = requestIn(event, context)
      const { database } = await source.open()
      const credential = await open(database, decrypt, request)
      countMetric('CredentialOpened', credential === null ? 'none' : 'opened')
      if (credential !== null) log.info('opened a credential', fieldsOf(request))
      return credential
    } catch (error) {
      const isRefused = error instanceof Refused
      countMetric('CredentialOpened', isRefused ? 'refused' : 'failed')
      const fields = { ...fieldsOf(request), error: describeError(error) }
      if (isRefused) {
        log.warn('refused to open a credential', fields)
        throw error
      }
      log.error('could not open a credential', fields)
      throw new Error('the credential could not be opened', { cause: error })
    }
  })
