import type { SQSBatchResponse, SQSRecord } from 'aws-lambda'
import * as v from 'valibot'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { MAIL_TAG } from '#shared/mail/mail-tag.ts'
import { type BounceCause, recordBounce } from '#shared/mail/bounces.ts'
import type { Runtime } from './worker.ts'

const Mail = v.object({ tags: v.object({ [MAIL_TAG]: v.tuple([v.pipe(v.string(), v.uuid())]) }) })
const Recipients = v.array(v.object({ emailAddress: v.string() }))

// https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html
const SesEvent = v.variant('eventType', [
  v.object({
    eventType: v.literal('Bounce'),
    mail: Mail,
    bounce: v.object({ bounceType: v.string(), bounceSubType: v.string(), bouncedRecipients: Recipients }),
  }),
  v.object({
    eventType: v.literal('Complaint'),
    mail: Mail,
    complaint: v.object({ complaintFeedbackType: v.nullish(v.string()), complainedRecipients: Recipients }),
  }),
  v.object({ eventType: v.literal('Reject') }),
])

const SUPPRESSED = new Set(['Suppressed', 'OnAccountSuppressionList'])

/**
 * Records each permanent bounce and complaint. Ignores soft bounces, which SES has tried again by itself, and what does not
 * parse. Returns the messages that failed: the queue delivers them again.
 */
export async function recordBounces(
  { database }: Runtime,
  { Records: records }: { readonly Records: readonly Pick<SQSRecord, 'messageId' | 'body'>[] },
): Promise<SQSBatchResponse> {
  const failed: string[] = []
  for (const { messageId, body } of records) {
    const report = reportIn(body)
    if (report === null) {
      log.error('an event of SES does not parse and is ignored', { message_id: messageId })
      continue
    }
    try {
      for (const address of report.addresses) {
        if (await recordBounce(database.sql, { ...report, address })) noteStop(report.jobId)
      }
    } catch (error) {
      log.error('could not record a bounce; the queue delivers it again', {
        message_id: messageId,
        error: describeError(error),
      })
      failed.push(messageId)
    }
  }
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) }
}

function noteStop(jobId: string): void {
  countMetric('InvitationsStopped')
  log.error('too many invitations of a tenant came back; it may invite nobody until an operator allows it', {
    job_id: jobId,
  })
}

interface Report {
  readonly jobId: string
  readonly cause: BounceCause
  readonly addresses: readonly string[]
}

const NOTHING: Report = { jobId: '', cause: 'bounce', addresses: [] }

/** Returns what an event reports, without addresses when it reports nothing for good. Returns null when it does not parse. */
function reportIn(body: string): Report | null {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SesEvent), body)
  if (!parsed.success) return null
  const event = parsed.output
  switch (event.eventType) {
    case 'Bounce': {
      const { bounceType, bounceSubType, bouncedRecipients } = event.bounce
      if (bounceType !== 'Permanent') return NOTHING
      // SES did not even try, because the address bounced before.
      const cause = SUPPRESSED.has(bounceSubType) ? 'suppressed' : 'bounce'
      return reportOf(cause, event.mail, bouncedRecipients)
    }
    case 'Complaint': {
      const { complaintFeedbackType, complainedRecipients } = event.complaint
      // The recipient took the complaint back.
      return complaintFeedbackType === 'not-spam' ? NOTHING : reportOf('complaint', event.mail, complainedRecipients)
    }
    case 'Reject':
      return NOTHING
  }
}

const reportOf = (
  cause: BounceCause,
  { tags }: v.InferOutput<typeof Mail>,
  recipients: v.InferOutput<typeof Recipients>,
): Report => ({
  cause,
  jobId: tags[MAIL_TAG][0],
  addresses: recipients.map(({ emailAddress }) => emailAddress.replace(/^.*<|>$/g, '').toLowerCase()),
})
