import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { describeError, log } from '#shared/base/log.ts'

/** The caller signs this header with the request to STS, so that their proof holds for one command to one function. */
export const COMMAND_HEADER = 'x-tenantry-command'

/** Returns the value of COMMAND_HEADER. `command` has its keys in the order in which it is sent. */
export const commandDigest = (functionName: string, command: object): string =>
  `${functionName} ${createHash('sha256').update(JSON.stringify(command)).digest('hex')}`

// STS has been seen to accept an expired query for 15 minutes.
const MAX_AGE_MS = 5 * 60_000
const TIMEOUT_MS = 5000

// Any other parameter, such as another action, could make STS answer something else.
const Query = v.strictObject({
  Action: v.literal('GetCallerIdentity'),
  Version: v.literal('2011-06-15'),
  'X-Amz-Algorithm': v.literal('AWS4-HMAC-SHA256'),
  'X-Amz-Credential': v.string(),
  'X-Amz-Date': v.pipe(v.string(), v.regex(/^\d{8}T\d{6}Z$/)),
  'X-Amz-Expires': v.string(),
  'X-Amz-SignedHeaders': v.literal(`host;${COMMAND_HEADER}`),
  'X-Amz-Security-Token': v.optional(v.string()),
  'X-Amz-Signature': v.string(),
})

const Identity = v.object({
  GetCallerIdentityResponse: v.object({
    GetCallerIdentityResult: v.object({ Account: v.string(), Arn: v.pipe(v.string(), v.startsWith('arn:')) }),
  }),
})

/**
 * Returns the ARN of the principal who signed `query`, a query string of GetCallerIdentity, for this command. Returns null
 * if STS does not confirm it, the query is old, or the principal is of another account. Lambda does not tell a function who
 * invoked it.
 */
export async function findCaller(
  query: string,
  { digest, accountId }: { digest: string; accountId: string },
): Promise<string | null> {
  const sent = [...new URLSearchParams(query)]
  const parsed = v.safeParse(Query, Object.fromEntries(sent))
  if (!parsed.success || sent.length !== Object.keys(parsed.output).length) return null
  const signedAt = Date.parse(
    parsed.output['X-Amz-Date'].replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  )
  if (!(Math.abs(Date.now() - signedAt) <= MAX_AGE_MS)) return null
  try {
    const response = await fetch(`${stsUrl()}/?${new URLSearchParams(sent).toString()}`, {
      headers: { accept: 'application/json', [COMMAND_HEADER]: digest },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`STS responded ${response.status}`)
    const { Account, Arn } = v.parse(Identity, await response.json()).GetCallerIdentityResponse.GetCallerIdentityResult
    return Account === accountId ? Arn : null
  } catch (error) {
    log.warn('STS did not confirm the caller of a command; refusing the command', { error: describeError(error) })
    return null
  }
}

// The endpoint setting of the AWS SDKs, or the endpoint of the region.
const stsUrl = (): string =>
  process.env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${process.env['AWS_REGION']}.amazonaws.com`
