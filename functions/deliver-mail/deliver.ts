import { SendEmailCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import { oneLine, renderHtml, renderText } from '#shared/mail/email-message.ts'
import { drain } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { compose } from './compose.ts'
import type { Runtime } from './job.ts'

const CONCURRENCY = 10
const SEND_TIMEOUT_MS = 5000
// Ten letters that each time out one after the other are done within the lease.
const LEASE_SECONDS = 90
const ATTEMPTS = 12

// https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors: the letter is refused,
// and will be again.
const REFUSED = new Set(['MessageRejected', 'BadRequestException'])

/**
 * Delivers the mail that is due, until there is none or `enough` says so. A letter goes out at least once: when the
 * worker dies between sending and completing, the next one sends it again, with the same link. Returns how many went out.
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
  const letter = await compose(runtime, job)
  if (letter === null) return false
  await ses.send(
    new SendEmailCommand({
      FromEmailAddress: runtime.config.mail.from,
      Destination: { ToAddresses: [letter.to] },
      Content: {
        Simple: {
          Subject: { Data: oneLine(letter.subject), Charset: 'UTF-8' },
          Body: {
            Text: { Data: renderText(letter), Charset: 'UTF-8' },
            Html: { Data: renderHtml(letter), Charset: 'UTF-8' },
          },
        },
      },
    }),
    { abortSignal: AbortSignal.timeout(SEND_TIMEOUT_MS) },
  )
  return true
}
