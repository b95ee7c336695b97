import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SESv2Client } from '@aws-sdk/client-sesv2'
import { deliverDueMail } from '#functions/workers/deliver-mail/deliver.ts'
import type { Authorize } from '#infra/local/aws/aws-endpoints.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import type { Message } from '#infra/local/mail/kept-email.ts'
import { startMailbox } from '#infra/local/mail/mailbox.ts'
import { type Quota, startSes } from '#infra/local/aws/ses.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

/** The runtime of the mailer. */
export type Mailer = RuntimeFor<'database:mailer' | 'pepper' | 'mail-key'>

/** The mailer, which runs when a test calls `deliver`, with a local SES. */
export interface TestMail {
  readonly mailer: Mailer
  readonly ses: SESv2Client
  readonly sesUrl: string
  readonly faults: Faults
  /** What SES allows. A test may change it. */
  readonly quota: { -readonly [Name in keyof Quota]: Quota[Name] }
  /** The events that SES published, oldest first. */
  readonly events: readonly object[]
  /** Delivers the mails that are due. Returns how many were sent. */
  deliver(): Promise<number>
  /** Returns the mails to an address, newest first. */
  to(address: string): Message[]
  /** Delivers the mails that are due. Returns the token in the newest mail with a link to an address. Mails of one run arrive in any order. */
  tokenFor(address: string): Promise<string>
  close(): Promise<void>
}

/** Without `authorize`, anybody may send as anybody. */
export async function startTestMail(mailer: Mailer, { authorize }: { authorize?: Authorize } = {}): Promise<TestMail> {
  const stateDir = await mkdtemp(join(tmpdir(), 'tenantry-mail-'))
  const faults = createFaults()
  const mailbox = await startMailbox({ stateDir })
  const quota = { perDay: 1_000_000, perSecond: 10_000 }
  const events: object[] = []
  const publish = (event: object) => void events.push(event)
  const server = await startSes({ mailbox, faults, authorize, quota, publish })
  const ses = new SESv2Client({
    endpoint: server.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  })
  const deliver = () => deliverDueMail(mailer, ses, () => false)
  return {
    mailer,
    ses,
    sesUrl: server.url,
    faults,
    quota,
    events,
    deliver,
    to: (address) => mailbox.messages(address),
    tokenFor: async (address) => {
      await deliver()
      return tokenIn(mailbox.messages(address).find(({ text }) => LINK.test(text ?? '')))
    },
    close: async () => {
      faults.close()
      ses.destroy()
      await server.close()
      await mailbox.close()
      await mailer.database.close()
      await rm(stateDir, { recursive: true, force: true })
    },
  }
}

const LINK = /[?]token=([A-Za-z0-9_-]{43})$/m

/** Returns the single-use token in a mail's link. */
export function tokenIn(message: Message | undefined): string {
  const token = LINK.exec(message?.text ?? '')?.[1]
  if (token === undefined) throw new Error('the mail has no link with a token')
  return token
}
