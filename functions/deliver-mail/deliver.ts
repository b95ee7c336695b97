import { SendEmailCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import { oneLine, renderHtml, renderText } from '#shared/mail/email-message.ts'
import { drain } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { compose } from './compose.ts'
import type { Runtime } from './job.ts'

const CONCURRENCY = 10
const SEND_TIMEOUT_MS = 5000
// Longer than ten emails take when each times out after the other.
const LEASE_SECONDS = 90
const ATTEMPTS = 12

// https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors: SES would reject
// the email again.
const REFUSED = new Set(['MessageRejected', 'BadRequestException'])

/**
 * Sends the due emails until none is left or `shouldStop` returns true. Each is sent at least once: when a worker dies after
 * sending and before completing the job, the next one sends the email again, with the same link. Returns how many it sent.
 */
export const deliverDueMail = (runtime: Runtime, ses: SESv2Client, shouldStop: () => boolean): Promise<number> =>
  drain(
    runtime.database,
    {
      kind: 'mail',
      concurrency: CONCURRENCY,
      leaseSeconds: LEASE_SECONDS,
      attempts: ATTEMPTS,
      run: (job) => deliver(runtime, ses, job),
      isFinal: (error) => error instanceof Error && REFUSED.has(error.name),
    },
    shouldStop,
  )

async function deliver(runtime: Runtime, ses: SESv2Client, job: LeasedJob<JobPayload<'mail'>>): Promise<boolean> {
  const email = await compose(runtime, job)
  if (email === null) return false
  await ses.send(
    new SendEmailCommand({
      FromEmailAddress: runtime.config.mail.from,
      Destination: { ToAddresses: [email.to] },
      Content: {
        Simple: {
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
