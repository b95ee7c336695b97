import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import {
  asking,
  AWS_ACCOUNT,
  AWS_REGION,
  AwsError,
  type Authorize,
  parseInput,
  withAwsFailures,
} from './aws-endpoints.ts'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import type { EmailMessage, Mailbox } from '#infra/local/mail/mailbox.ts'

const SuppressInput = v.object({ EmailAddress: v.string(), Reason: v.picklist(['BOUNCE', 'COMPLAINT']) })
const Content = v.object({ Data: v.string() })
const Addresses = v.optional(v.array(v.string()), [])
const SendEmailInput = v.object({
  EmailTags: v.optional(v.array(v.object({ Name: v.string(), Value: v.string() })), []),
  FromEmailAddress: v.pipe(v.string(), v.nonEmpty()),
  ReplyToAddresses: Addresses,
  Destination: v.object({ ToAddresses: Addresses, CcAddresses: Addresses, BccAddresses: Addresses }),
  Content: v.object({
    Simple: v.object({
      Headers: v.optional(v.array(v.object({ Name: v.string(), Value: v.string() })), []),
      Subject: Content,
      Body: v.object({ Text: v.optional(Content), Html: v.optional(Content) }),
    }),
  }),
})

type SendEmail = v.InferOutput<typeof SendEmailInput>

/**
 * Returns the event that SES publishes for a recipient, without the mail, or null. The addresses are those of SES's mailbox
 * simulator, which also take a label (`bounce+one@…`): https://docs.aws.amazon.com/ses/latest/dg/send-an-email-from-console.html
 */
function eventOf(to: string, unwanted: boolean): object | null {
  const [, kind = ''] = /^([a-z]+)(?:\+[^@]*)?@simulator\.amazonses\.com$/i.exec(to) ?? []
  const bounce = (bounceSubType: string) => ({
    eventType: 'Bounce',
    bounce: { bounceType: 'Permanent', bounceSubType, bouncedRecipients: [{ emailAddress: to }] },
  })
  if (unwanted) return bounce('OnAccountSuppressionList')
  switch (kind.toLowerCase()) {
    case 'bounce':
      return bounce('General')
    case 'suppressionlist':
      return bounce('Suppressed')
    case 'complaint':
      return {
        eventType: 'Complaint',
        complaint: { complaintFeedbackType: 'abuse', complainedRecipients: [{ emailAddress: to }] },
      }
    default:
      return null
  }
}

const mailOf = ({ EmailTags, FromEmailAddress, Destination }: SendEmail, messageId: string) => ({
  timestamp: new Date().toISOString(),
  messageId,
  source: FromEmailAddress,
  destination: Destination.ToAddresses,
  tags: Object.fromEntries(EmailTags.map(({ Name, Value }) => [Name, [Value]])),
})

/** What SES allows an account. */
export interface Quota {
  readonly perDay: number
  readonly perSecond: number
  readonly paused?: boolean
}

/** Of an account that has left the sandbox. */
const PRODUCTION_QUOTA: Quota = { perDay: 50_000, perSecond: 14 }

const accountOf = ({ perDay, perSecond, paused = false }: Quota, sent: number) => ({
  SendingEnabled: !paused,
  SendQuota: { Max24HourSend: perDay, MaxSendRate: perSecond, SentLast24Hours: sent },
})

/** Throws as SES does. It allows one second's emails in any second. */
function checkQuota({ perDay, perSecond, paused = false }: Quota, sent: readonly number[]): void {
  if (paused) throw new AwsError('SendingPausedException', 'Email sending is paused.')
  if (sent.length >= perDay) throw new AwsError('TooManyRequestsException', 'Daily message quota exceeded', 429)
  if (Date.now() - (sent.at(-perSecond) ?? -Infinity) < 1000)
    throw new AwsError('TooManyRequestsException', 'Maximum sending rate exceeded', 429)
}

/**
 * Serves SES version 2 for the unmodified SDK client: SendEmail of simple content, into the mailbox, GetAccount, and the suppression list.
 * Verifies no sender. Publishes the events of bounces and complaints. Asks for the rights as an account in the sandbox does, in which every recipient is an identity of the account.
 */
export const startSes = (options: {
  readonly mailbox: Mailbox
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize | undefined
  readonly quota?: Quota
  /** Receives the events that SES publishes. */
  readonly publish?: (event: object) => void
}): Promise<HttpServer> => {
  const { mailbox, faults, port, authorize, quota = PRODUCTION_QUOTA, publish = () => {} } = options
  const sent: number[] = []
  const suppressed = new Set<string>()
  return startHttpServer({
    port,
    meet: faults && (() => faults.meet('ses')),
    answer: withAwsFailures(async ({ method, url, headers, body }) => {
      const ask = asking(authorize, headers)
      if (method === 'GET' && url.pathname === '/v2/email/account') {
        ask('ses:GetAccount', '*')
        return json(200, accountOf(quota, sent.length))
      }
      const [, list, address = ''] = /^(\/v2\/email\/suppression\/addresses)(?:\/([^/]+))?$/.exec(url.pathname) ?? []
      if (list !== undefined && method === 'PUT') {
        const { EmailAddress } = parseInput(SuppressInput, JSON.parse(body.toString()))
        suppressed.add(EmailAddress.toLowerCase())
        return json(200, {})
      }
      if (list !== undefined && method === 'DELETE') {
        ask('ses:DeleteSuppressedDestination', '*')
        if (suppressed.delete(decodeURIComponent(address).toLowerCase())) return json(200, {})
        throw new AwsError('NotFoundException', 'The address is not on the suppression list.', 404)
      }
      if (method !== 'POST' || url.pathname !== '/v2/email/outbound-emails') {
        throw new AwsError('NotFoundException', `No local operation ${method} ${url.pathname}`, 404)
      }
      const input = parseSendEmail(JSON.parse(body.toString()))
      const email = emailOf(input)
      const from = addressOf(email.from)
      for (const identity of [from.replace(/^.*@/, ''), ...recipientsOf(email)])
        ask('ses:SendEmail', identityArn(identity), { 'ses:FromAddress': from })
      checkQuota(quota, sent)
      sent.push(Date.now())
      const unwanted = suppressed.has(email.to.toLowerCase())
      const MessageId = unwanted ? randomUUID() : await mailbox.keep(email)
      const event = eventOf(email.to, unwanted)
      if (event !== null) publish({ ...event, mail: mailOf(input, MessageId) })
      return json(200, { MessageId })
    }),
  })
}

/** Returns the ARN of a domain or an address as an identity. */
const identityArn = (name: string): string => `arn:aws:ses:${AWS_REGION}:${AWS_ACCOUNT}:identity/${name}`

/** Returns the address of `NAME <ADDRESS>` or `ADDRESS`. */
const addressOf = (text: string): string => /<([^<>]+)>$/.exec(text)?.[1] ?? text

const recipientsOf = ({ to, copies }: EmailMessage): string[] =>
  `${to}, ${copies}`
    .split(', ')
    .filter((text) => text !== '')
    .map(addressOf)

function parseSendEmail(input: unknown): SendEmail {
  const parsed = v.safeParse(SendEmailInput, input)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new AwsError('BadRequestException', `${v.getDotPath(issue) ?? 'input'}: ${issue.message}`)
}

function emailOf({ FromEmailAddress, ReplyToAddresses, Destination, Content: { Simple } }: SendEmail): EmailMessage {
  const { ToAddresses, CcAddresses, BccAddresses } = Destination
  const copies = [...CcAddresses, ...BccAddresses]
  if (ToAddresses.length + copies.length === 0) {
    throw new AwsError('BadRequestException', 'Destination: no address')
  }
  return {
    to: ToAddresses.join(', '),
    from: FromEmailAddress,
    copies: copies.join(', '),
    subject: Simple.Subject.Data,
    headers: [
      ...Simple.Headers.map(({ Name, Value }) => `${Name}: ${Value}`),
      ...(ReplyToAddresses.length === 0 ? [] : [`Reply-To: ${ReplyToAddresses.join(', ')}`]),
    ],
    text: Simple.Body.Text?.Data ?? null,
    html: Simple.Body.Html?.Data ?? null,
  }
}
