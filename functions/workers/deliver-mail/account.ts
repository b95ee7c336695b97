import { GetAccountCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import { describeError, log } from '#shared/base/log.ts'

const TTL_MS = 300_000
const TIMEOUT_MS = 5000
// The rate of an account in the sandbox.
const LEAST_PER_SECOND = 1

/** What SES allows the account. */
export interface Account {
  readonly sendsPerSecond: number
  /** Why SES sends nothing now: sending is paused, or the day's quota is used up. Null when it sends. */
  readonly blockedBy: 'paused' | 'quota' | null
}

const known = new WeakMap<SESv2Client, Account & { readonly until: number }>()

/**
 * Returns what SES allows, at most five minutes old. An account that is blocked is read again each time. If SES does not
 * tell, returns the last known rate, or that of the sandbox.
 */
export async function readAccount(ses: SESv2Client): Promise<Account> {
  const last = known.get(ses)
  if (last !== undefined && last.blockedBy === null && last.until > Date.now()) return last
  try {
    const reply = await ses.send(new GetAccountCommand({}), { abortSignal: AbortSignal.timeout(TIMEOUT_MS) })
    const {
      Max24HourSend: most = -1,
      MaxSendRate: rate = LEAST_PER_SECOND,
      SentLast24Hours: sent = 0,
    } = reply.SendQuota ?? {}
    const spent = most >= 0 && sent >= most
    const account: Account = {
      sendsPerSecond: Math.max(LEAST_PER_SECOND, rate),
      blockedBy: reply.SendingEnabled === false ? 'paused' : spent ? 'quota' : null,
    }
    known.set(ses, { ...account, until: Date.now() + TTL_MS })
    return account
  } catch (error) {
    log.warn('could not read the sending limits; using the last known', { error: describeError(error) })
    return { sendsPerSecond: last?.sendsPerSecond ?? LEAST_PER_SECOND, blockedBy: null }
  }
}
