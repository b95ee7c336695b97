import * as v from 'valibot'
import { asking, AWS_ACCOUNT, AWS_REGION, AwsError, type Authorize, withAwsFailures } from './aws-endpoints.ts'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import type { EmailMessage, Mailbox } from '#infra/local/mail/mailbox.ts'
import { parseMime } from './mime.ts'

const Content = v.object({ Data: v.string() })
const Addresses = v.optional(v.array(v.string()), [])
const SendEmailInput = v.object({
  FromEmailAddress: v.optional(v.string(), ''),
  Destination: v.optional(v.object({ ToAddresses: Addresses, CcAddresses: Addresses, BccAddresses: Addresses })),
  Content: v.object({
    Simple: v.optional(
      v.object({
        Subject: Content,
        Body: v.object({ Text: v.optional(Content), Html: v.optional(Content) }),
      }),
    ),
    Raw: v.optional(v.object({ Data: v.pipe(v.string(), v.base64()) })),
  }),
})

type SendEmail = v.InferOutput<typeof SendEmailInput>

/** SES version 2 for the unmodified SDK client: SendEmail, simple or raw, into the mailbox. Senders need no verification. */
export const startSes = (options: {
  readonly mailbox: Mailbox
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize | undefined
}): Promise<HttpServer> => {
  const { mailbox, faults, port, authorize } = options
  return startHttpServer({
    port,
    meet: faults && (() => faults.meet('ses')),
    answer: withAwsFailures(async ({ method, url, headers, body }) => {
      if (method !== 'POST' || url.pathname !== '/v2/email/outbound-emails') {
        throw new AwsError('NotFoundException', `No local operation ${method} ${url.pathname}`, 404)
      }
      const letter = letterOf(parseSendEmail(JSON.parse(body.toString())))
      asking(authorize, headers)('ses:SendEmail', identityArn(letter.from))
      return json(200, { MessageId: await mailbox.keep(letter) })
    }),
  })
}

/** The domain's identity, by which a sender sends. */
const identityArn = (from: string): string =>
  `arn:aws:ses:${AWS_REGION}:${AWS_ACCOUNT}:identity/${/@([^@>]+)>?$/.exec(from)?.[1] ?? ''}`

function parseSendEmail(input: unknown): SendEmail {
  const parsed = v.safeParse(SendEmailInput, input)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new AwsError('BadRequestException', `${v.getDotPath(issue) ?? 'input'}: ${issue.message}`)
}

function letterOf({ FromEmailAddress, Destination, Content: content }: SendEmail): EmailMessage {
  const to = Destination?.ToAddresses ?? []
  const copies = [...(Destination?.CcAddresses ?? []), ...(Destination?.BccAddresses ?? [])]
  const raw = content.Raw && parseMime(Buffer.from(content.Raw.Data, 'base64'))
  const letter: EmailMessage | undefined = content.Simple
    ? {
        to: to.join(', '),
        from: FromEmailAddress,
        copies: copies.join(', '),
        subject: content.Simple.Subject.Data,
        text: content.Simple.Body.Text?.Data ?? null,
        html: content.Simple.Body.Html?.Data ?? null,
      }
    : raw && {
        to: to.join(', ') || raw.to,
        from: FromEmailAddress || raw.from,
        copies: copies.join(', ') || raw.cc,
        subject: raw.subject,
        text: raw.text,
        html: raw.html,
      }
  if (letter === undefined) throw new AwsError('BadRequestException', 'Content: Simple or Raw is needed here')
  if (letter.to === '' && letter.copies === '') throw new AwsError('BadRequestException', 'Destination: no address')
  if (letter.from === '') throw new AwsError('BadRequestException', 'FromEmailAddress: no address')
  return letter
}
