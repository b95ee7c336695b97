import { appendFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type EmailContent, SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMailbox } from '#infra/local/mail/mailbox.ts'
import { startSes } from '#infra/local/aws/ses.ts'
import { tempFolder } from '#tests/infra/local/temp-folder.ts'

const FROM = 'Tenantry <no-reply@tenantry.test>'

async function startedSes(stateDir = tempFolder()) {
  const mailbox = await startMailbox({ stateDir })
  const ses = await startSes({ mailbox })
  const close = async () => {
    await ses.close()
    await mailbox.close()
  }
  onTestFinished(close)
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const client = new SESv2Client({ endpoint: ses.url, region: 'us-east-1', credentials, maxAttempts: 1 })
  const deliver = (to: string[], Content: EmailContent) =>
    client.send(new SendEmailCommand({ FromEmailAddress: FROM, Destination: { ToAddresses: to }, Content }))
  const get = async (path: string) => {
    const response = await fetch(mailbox.url + path)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const list = async (query = '') => JSON.parse((await get(`/messages${query}`)).text)
  return { mailbox, deliver, get, list, close }
}

const simple = (Subject: string, Html = '<p>Hello</p>'): EmailContent => ({
  Simple: {
    Subject: { Data: Subject },
    Body: { Text: { Data: 'Hello\nhttps://web.test/reset?a=1&b=2' }, Html: { Data: Html } },
  },
})

describe('local SES and mailbox', () => {
  it('returns each sent email as JSON', async () => {
    const { deliver, list } = await startedSes()
    const { MessageId } = await deliver(['owner@acme.test'], simple('Welcome'))
    expect(await list('?to=owner@acme.test')).toEqual({
      data: [
        {
          id: MessageId,
          to: 'owner@acme.test',
          from: FROM,
          subject: 'Welcome',
          text: 'Hello\nhttps://web.test/reset?a=1&b=2',
          html: '<p>Hello</p>',
          headers: {},
          received_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
    })
  })

  it('finds the emails to an address in any case, newest first', async () => {
    const { deliver, list } = await startedSes()
    await deliver(['Owner <OWNER+x@acme.test>'], simple('one'))
    await deliver(['other@acme.test'], simple('two'))
    await deliver(['owner+x@Acme.test'], simple('three'))
    const found = await list('?to=owner+x@acme.test')
    expect(found.data.map(({ subject }: { subject: string }) => subject)).toEqual(['three', 'one'])
    expect((await list('?to=nobody@acme.test')).data).toEqual([])
    expect((await list()).data).toHaveLength(3)
  })

  it('keeps its emails over a restart, even after a line that a crash cut short', async () => {
    const stateDir = tempFolder()
    const before = await startedSes(stateDir)
    await before.deliver(['owner@acme.test'], simple('kept'))
    await before.close()
    appendFileSync(join(stateDir, 'mailbox.jsonl'), '{"id":"cut')
    const between = await startedSes(stateDir)
    await between.deliver(['owner@acme.test'], simple('later'))
    await between.close()
    const after = await startedSes(stateDir)
    expect(after.mailbox.messages().map(({ subject }) => subject)).toEqual(['later', 'kept'])
  })

  it('escapes emails in its pages and sandboxes their HTML', async () => {
    const { deliver, get } = await startedSes()
    const email = simple('<img src=x onerror=alert(1)>', '<script>1</script>')
    const { MessageId } = await deliver(['"><script>x</script>@acme.test'], email)
    for (const path of ['/', `/messages/${MessageId}`]) {
      const { text, headers } = await get(path)
      expect(text).not.toMatch(/<script|<img/)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'sha256-")
    }
    const shown = await get(`/messages/${MessageId}`)
    expect(shown.text).toContain('href="https://web.test/reset?a=1&#38;b=2"')
    expect(shown.text).toMatch(/sandbox="allow-popups allow-popups-to-escape-sandbox" src="\/messages\/[^"]+\/html"/)
    const framed = await get(`/messages/${MessageId}/html`)
    expect(framed.headers.get('content-security-policy')).toMatch(/^sandbox allow-popups [^;]*; default-src 'none'/)
    expect((await get('/messages/none')).status).toBe(404)
  })

  it('rejects an email without content or recipient', async () => {
    const { deliver, mailbox } = await startedSes()
    await expect(deliver(['a@acme.test'], {})).rejects.toMatchObject({ name: 'BadRequestException' })
    await expect(deliver([], simple('x'))).rejects.toMatchObject({ name: 'BadRequestException' })
    expect(mailbox.messages()).toEqual([])
  })

  it('rejects a Host header that is not a loopback name', async () => {
    const { mailbox } = await startedSes()
    const status = await new Promise((resolve) => {
      request(mailbox.url, { headers: { host: 'evil.test' } }, (response) => resolve(response.statusCode)).end()
    })
    expect(status).toBe(421)
  })
})
