import { setTimeout as delay } from 'node:timers/promises'
import { SendEmailCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import { log } from '#shared/base/log.ts'
import { MAIL_TAG } from '#shared/mail/mail-tag.ts'
import { oneLine, renderHtml, renderText } from '#shared/mail/email-message.ts'
import { drain } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { type Account, readAccount } from './account.ts'
import { compose, Expired } from './compose.ts'
import type { Runtime } from './worker.ts'
import { reserveSend } from './queries.ts'
import { replyTo, sender } from './sender.ts'

const CONCURRENCY = 10
const SEND_TIMEOUT_MS = 5000
// Longer than ten emails take when each waits for its time and then times out.
const LEASE_SECONDS = 90
// So that emails which are on their way for different times do not arrive faster than the account may send.
const SHARE_OF_RATE = 0.9

// https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors: SES would reject
// the email again.
const REFUSED = new Set(['MessageRejected', 'BadRequestException'])

// SES would reject every email now: sending is paused, the day's quota or the rate is exceeded, or the role may not send.
// https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html
const BLOCKED = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'AccountSuspendedException',
  'LimitExceededException',
  'MailFromDomainNotVerifiedException',
  'SendingPausedException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
])

/**
 * Sends the due emails until none is left, SES blocks them or `shouldStop` returns true, no faster than the account may. An
 * email that fails is tried again until its token expires. Each is sent at least once: when a worker dies after
 * sending and before completing the job, the next one sends the email again, with the same link. Returns how many it sent.
 */
export async function deliverDueMail(runtime: Runtime, ses: SESv2Client, shouldStop: () => boolean): Promise<number> {
  const account = await readAccount(ses)
  if (account.blockedBy !== null) {
    log.error('SES sends no email now; the emails wait', { reason: account.blockedBy })
    return 0
  }
  return drain(
    runtime.database,
    {
      kind: 'mail',
      // At a low rate the last email of a batch would wait longer than the lease.
      concurrency: Math.min(CONCURRENCY, Math.floor(account.sendsPerSecond)),
      leaseSeconds: LEASE_SECONDS,
      attempts: null,
      run: (job) => deliver(runtime, ses, account, job),
      isFinal: (error) => error instanceof Expired || (error instanceof Error && REFUSED.has(error.name)),
      isBlocked: (error) => error instanceof Error && BLOCKED.has(error.name),
    },
    shouldStop,
  )
}

async function deliver(
  runtime: Runtime,
  ses: SESv2Client,
  { sendsPerSecond }: Account,
  job: LeasedJob<JobPayload<'mail'>>,
): Promise<boolean> {
  const email = await compose(runtime, job)
  if (email === null) return false
  await delay(await reserveSend(runtime.database.sql, sendsPerSecond * SHARE_OF_RATE))
  await ses.send(
    new SendEmailCommand({
      EmailTags: [{ Name: MAIL_TAG, Value: job.id }],
      FromEmailAddress: sender(runtime.config),
      ReplyToAddresses: replyTo(runtime.config),
      Destination: { ToAddresses: [email.to] },
      Content: {
        Simple: {
          // So that no program answers it (RFC 3834, 5). `List-Unsubscribe` (RFC 8058) is for lists that people subscribe to. Each of these
          // emails follows an action of its recipient, or tells them of their own account: https://support.google.com/a/answer/81126
          Headers: [{ Name: 'Auto-Submitted', Value: 'auto-generated' }],
          Subject: { Data: oneLine(email.subject), Charset: 'UTF-8' },
          Body: {
            Text: { Data: renderText(email), Charset: 'UTF-8' },
            Html: { Data: renderHtml(email), Charset: 'UTF-8' },
          },
        },
      },
    }),
    { abortSignal: AbortSignal.timeout(SEND_TIMEOUT_MS) },
  )
  return true
}
