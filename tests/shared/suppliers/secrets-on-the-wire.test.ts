import * as fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { describe, expect, it, onTestFinished } from 'vitest'
import { json, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { dateModifiedRequest } from '#shared/suppliers/promo-standards.ts'
import { type AdapterName, credentialFaults, verifyCredential } from '#shared/suppliers/vendor.ts'

const TELLING: readonly string[] = [
  `<>&"' ]]> &amp; &lt; &#38; <![CDATA[ --> <!-- ?>`,
  ':a:b:',
  'Grüße, ключ, 鍵, 🔑, e\u0301 \u00E9',
  ' spaces  within and at the ends ',
  '</s:password><s:password>',
  '\u00A0\u2028\uFEFF\u200B',
  "'; drop table app.users; --",
  '%41%00+ $& $1 \\n \\u0000',
]

const halves = fc.string({ unit: fc.constantFrom('\uD83D', '\uDD11', 'a') })

const field = fc
  .oneof(fc.constantFrom(...TELLING), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), halves)
  .filter((text) => text !== '')

/** Parses the elements of a request in order with an independent parser. */
function parsed(xml: string): readonly { readonly name: string; readonly text: string }[] {
  const elements: { name: string; text: string }[] = []
  const parser = new SaxesParser({ xmlns: true })
  parser.on('opentag', ({ uri, local }) => void elements.push({ name: `{${uri}}${local}`, text: '' }))
  parser.on('text', (text) => {
    const element = elements.at(-1)
    if (element !== undefined) element.text += text
  })
  parser.write(xml).close()
  return elements
}

const PRODUCT_DATA = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
const SHARED = `${PRODUCT_DATA}SharedObjects/`
const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/'

describe('credentials on the wire', () => {
  it('writes any credential into the SOAP envelope so that it parses back unchanged', () => {
    fc.assert(
      fc.property(field, field, (accountNumber, secret) => {
        const credential = { accountNumber, secret }
        fc.pre(credentialFaults('promostandards', credential).length === 0)
        const since = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678))
        expect(parsed(dateModifiedRequest(credential, since).body)).toEqual([
          { name: `{${SOAP}}Envelope`, text: '' },
          { name: `{${SOAP}}Body`, text: '' },
          { name: `{${PRODUCT_DATA}}GetProductDateModifiedRequest`, text: '' },
          { name: `{${SHARED}}wsVersion`, text: '2.0.0' },
          { name: `{${SHARED}}id`, text: accountNumber },
          { name: `{${SHARED}}password`, text: secret },
          { name: `{${SHARED}}changeTimeStamp`, text: '2026-01-02T03:04:05Z' },
        ])
      }),
      { numRuns: 2000 },
    )
  })

  it('accepts every secret except those with characters that cannot be sent', () => {
    fc.assert(
      fc.property(field, (secret) => {
        const faults = credentialFaults('promostandards', { accountNumber: '1', secret })
        const sendable = Array.from(secret).every((character) => {
          const code = character.codePointAt(0) ?? 0
          const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f)
          return !isControl && !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff
        })
        expect(faults.length === 0).toBe(sendable)
      }),
      { numRuns: 2000 },
    )
  })

  it.for(['ss-activewear', 'promostandards'] as const)(
    'sends a credential unchanged to a %s vendor',
    async (adapter) => {
      const received: LocalRequest[] = []
      const server = await startHttpServer({ answer: (request) => (received.push(request), json(503, {})) })
      onTestFinished(() => server.close())
      const urls = new Map([['tested', new URL(server.url)]])
      for (const secret of TELLING) {
        const accountNumber = secret.replaceAll(':', '')
        await verifyCredential({ code: 'tested', name: '', adapter }, { accountNumber, secret }, { urls })
        expect(readCredential(adapter, received.pop())).toEqual([accountNumber, secret])
      }
    },
  )
})

function readCredential(adapter: AdapterName, request: LocalRequest | undefined): readonly (string | undefined)[] {
  if (adapter === 'promostandards') {
    const elements = parsed(request?.body.toString() ?? '')
    return ['id', 'password'].map((name) => elements.find((element) => element.name === `{${SHARED}}${name}`)?.text)
  }
  const [, encoded = ''] = request?.headers.authorization?.split(' ') ?? []
  // The default decoder would drop a leading byte order mark.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'))
  return [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)]
}
