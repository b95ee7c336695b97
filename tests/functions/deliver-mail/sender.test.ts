import { describe, expect, it } from 'vitest'
import { parseConfig } from '#shared/base/config.ts'
import { replyTo, sender } from '#functions/workers/deliver-mail/sender.ts'
import { useService } from '#tests/support/test.ts'

const from = (env: Record<string, string>) => sender(parseConfig({ MAIL_FROM: 'no-reply@prints.test', ...env }))

/** Returns what a mail program shows of encoded words (RFC 2047). */
const shown = (text: string): string =>
  text
    .replaceAll(/\?= (?==\?)/g, '?=')
    .replaceAll(/=\?UTF-8\?B\?([^?]*)\?=/g, (_, word: string) => Buffer.from(word, 'base64').toString())

describe('the sender', () => {
  it('has the name of the platform, between quotes', () => {
    expect(from({})).toBe('"Tenantry" <no-reply@prints.test>')
    expect(from({ PLATFORM_NAME: 'Prints, "Co" \\ <x@evil.test>' })).toBe(
      String.raw`"Prints, \"Co\" \\ <x@evil.test>" <no-reply@prints.test>`,
    )
  })

  it.each(['Imprenta Ñandú', '印刷'.repeat(30), '👕'.repeat(15)])(
    'writes a name of other letters as encoded words of at most 75 characters: %s',
    (name) => {
      const text = from({ PLATFORM_NAME: name })
      expect(text).toMatch(/^[ -~]+ <no-reply@prints\.test>$/)
      for (const word of text.split(' ')) expect(word.length).toBeLessThanOrEqual(75)
      expect(shown(text)).toBe(`${name} <no-reply@prints.test>`)
    },
  )

  it('keeps a name of its own', () => {
    expect(from({ MAIL_FROM: 'Orders <orders@prints.test>' })).toBe('Orders <orders@prints.test>')
  })
})

describe('replies', () => {
  it.each([
    ['mailto:help@prints.test', ['help@prints.test']],
    ['mailto:help@prints.test?subject=Help', ['help@prints.test']],
    ['mailto:a@prints.test,b@prints.test', []],
    ['mailto:a%40b%0d%0aBcc:x@evil.test', []],
    ['https://help.prints.test/a@prints.test', []],
    ['', []],
  ])('go to the one address of a mailto: of SUPPORT_URL: %j', (url, expected) => {
    expect(replyTo(parseConfig({ SUPPORT_URL: url }))).toEqual(expected)
  })
})

describe('an email of a platform with a name and an address for help', () => {
  const service = useService({ env: { PLATFORM_NAME: 'Prints & Co', SUPPORT_URL: 'mailto:help@prints.test' } })

  it('names the platform as its sender, and replies go to the help', async () => {
    await service.request('POST /v1/auth/password/forgot', { body: { email: 'owner@acme.test' } })
    await service.mail.deliver()
    const [message] = service.mail.to('owner@acme.test')
    expect(message?.from).toBe('"Prints & Co" <no-reply@tenantry.example>')
    expect(message?.headers).toEqual(['Auto-Submitted: auto-generated', 'Reply-To: help@prints.test'])
  })
})
