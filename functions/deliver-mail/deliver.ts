import { SendEmailCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import { countMetric, describeError, log } from '#shared/log.ts'
import { oneLine, renderHtml, renderText } from '#shared/mail/letter.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import { claimJobs, completeJob, failJob, type LeasedJob } from '#shared/queue/queries.ts'
import type { Worker } from '#shared/worker.ts'
import { compose, UnknownMail } from './compose.ts'

const KIND = 'mail'
const AT_ONCE = 10
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
export async function deliverDueMail(worker: Worker, ses: SESv2Client, enough: () => boolean): Promise<number> {
  let sent = 0
  while (!enough()) {
    const jobs = await claimJobs(worker.database.sql, {
      kind: KIND,
      most: AT_ONCE,
      leaseSeconds: LEASE_SECONDS,
      attempts: ATTEMPTS,
    })
    if (jobs.length === 0) break
    const outcomes = await Promise.all(jobs.map((job) => deliver(worker, ses, job)))
    sent += outcomes.filter((went) => went).length
  }
  return sent
}

async function deliver(worker: Worker, ses: SESv2Client, job: LeasedJob): Promise<boolean> {
  const { sql } = worker.database
  try {
    const letter = await compose(worker, job)
    if (letter !== null) {
      await ses.send(
        new SendEmailCommand({
          FromEmailAddress: worker.config.mail.from,
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
    }
    await completeJob(sql, job)
    return letter !== null
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    const final = error instanceof UnknownMail || REFUSED.has(name) || job.attempts >= ATTEMPTS
    log.error('a mail was not delivered', {
      job_id: job.id,
      attempts: job.attempts,
      final,
      error: describeError(error),
    })
    countMetric(final ? 'MailDead' : 'MailFailed')
    await failJob(sql, job, name, final ? null : backoffSeconds(job.attempts))
    return false
  }
}
