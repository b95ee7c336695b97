import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { startVendors, type VendorAccount, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { VendorCredential } from '#shared/vendor/adapter.ts'
import { credentialFaults, type Vendor, verifyCredential } from '#shared/vendor/vendor.ts'
import { ask, BOTH, CREDENTIAL, GOOD_ANSWER, message, response, soap, startVendor } from './test-vendor.ts'

const ROWS: Readonly<Record<VendorAccount['code'], Vendor>> = {
  'ss-activewear': { code: 'ss-activewear', name: 'S&S Activewear', adapter: 'ss-activewear' },
  sanmar: { code: 'sanmar', name: 'SanMar', adapter: 'promostandards' },
}

async function localVendors() {
  const faults = createFaults()
  const vendors = await startVendors({ faults })
  onTestFinished(() => vendors.close())
  const urls = new Map(Object.entries(vendors.urls).map(([code, url]) => [code, new URL(url)]))
  const check = (account: VendorAccount, change: Partial<VendorAccount> = {}, timeoutMs?: number) => {
    const { account_number: accountNumber, secret } = { ...account, ...change }
    return verifyCredential(ROWS[account.code], { accountNumber, secret }, { urls, timeoutMs })
  }
  return { faults, check }
}

describe('a check with the local vendors', () => {
  it.for(vendorAccounts)('accepts the account of $code', async (account) => {
    const { check } = await localVendors()
    expect(await check(account)).toEqual({ outcome: 'accepted' })
  })

  it.for(vendorAccounts)('says that $code refused a wrong secret or a wrong account', async (account) => {
    const { check } = await localVendors()
    expect(await check(account, { secret: 'wrong' })).toEqual({ outcome: 'refused' })
    expect(await check(account, { account_number: '1' })).toEqual({ outcome: 'refused' })
  })

  it.for(vendorAccounts)('never takes a failing $code for a refusal, and accepts once it is well', async (account) => {
    const { faults, check } = await localVendors()
    await faults.set({ part: 'vendor', mode: 'refuse' })
    expect(await check(account)).toEqual({ outcome: 'unreachable', reason: 'connection_failed' })
    await faults.set({ part: 'vendor', mode: 'hang' })
    expect(await check(account, { secret: 'wrong' }, 200)).toEqual({ outcome: 'unreachable', reason: 'timeout' })
    await faults.set({ part: 'vendor', mode: 'slow', ms: 60_000 })
    expect(await check(account, {}, 200)).toEqual({ outcome: 'unreachable', reason: 'timeout' })
    await faults.set({ part: 'vendor', mode: 'ok' })
    expect(await check(account)).toEqual({ outcome: 'accepted' })
    faults.close()
  })
})

describe('a vendor in the way of S&S Activewear', () => {
  const answering = async (status: number, type: string, body: string) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status, { 'content-type': type }).end(body))
    return { vendor, outcome: await ask('ss-activewear', vendor.url) }
  }

  it('is asked for one field of one style, by Basic, and told nothing else of us', async () => {
    const { vendor } = await answering(200, 'application/json', '[]')
    expect(vendor.requests).toHaveLength(1)
    const { url, headers } = vendor.requests[0] ?? {}
    expect(url).toBe('/v2/styles/?styleid=39&fields=StyleID&mediatype=json')
    expect(headers).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      authorization: `Basic ${btoa('51234:a-secret-nobody-may-read')}`,
      connection: 'close',
      host: vendor.url.replace('http://', ''),
      'user-agent': 'tenantry',
    })
  })

  it('keeps the path of its configured URL, with or without a slash at the end', async () => {
    for (const path of ['/base', '/base/']) {
      const vendor = await startVendor((reply) => void reply.end('[]'))
      expect(await ask('ss-activewear', vendor.url + path)).toEqual({ outcome: 'accepted' })
      expect(vendor.requests[0]?.url).toMatch(/^\/base\/v2\/styles\//)
    }
  })

  it.for([
    [401, 'application/json', '{"message":"Authorization has been denied for this request."}'],
    [401, 'text/html', '<html>'],
    [401, '', ''],
    [403, 'application/json; charset=utf-8', '{}'],
  ] as const)('refuses with %s %s', async ([status, type, body]) => {
    expect((await answering(status, type, body)).outcome).toEqual({ outcome: 'refused' })
  })

  it.for([
    [403, 'text/html', '<html>Request blocked'],
    [404, 'application/json', '{"code":404}'],
    [400, 'application/json', '{}'],
    [200, 'application/json', '{"errors":[]}'],
    [200, 'application/json', '[{"styleID":39}'],
    [200, 'application/json', ''],
    [204, 'application/json', ''],
    [200, 'text/html', '<!doctype html><title>Sign in</title>'],
  ] as const)('is not understood when it answers %s %s %s', async ([status, type, body]) => {
    expect((await answering(status, type, body)).outcome).toEqual({
      outcome: 'unreachable',
      reason: 'unexpected_response',
    })
  })
})

describe('a PromoStandards vendor', () => {
  const answering = async (status: number, body: string) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status, { 'content-type': 'text/xml' }).end(body))
    return { vendor, outcome: await ask('promostandards', `${vendor.url}/service?ws=1`) }
  }
  const fault = (code: string, detail = '') =>
    soap(`<e:Fault><faultcode>${code}</faultcode><faultstring>words</faultstring>${detail}</e:Fault>`)

  it('is asked by SOAP 1.1 what changed in the last minute, at its configured URL', async () => {
    const { vendor } = await answering(200, '')
    expect(vendor.requests).toHaveLength(1)
    const { url, headers, body = '' } = vendor.requests[0] ?? {}
    expect(url).toBe('/service?ws=1')
    expect(headers).toMatchObject({
      'content-type': 'text/xml; charset=utf-8',
      soapaction: '"getProductDateModified"',
      'accept-encoding': 'identity',
    })
    expect(headers).not.toHaveProperty('authorization')
    const since = /<s:changeTimeStamp>(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)</.exec(body)?.[1] ?? ''
    expect(Math.abs(Date.now() - 60_000 - Date.parse(since))).toBeLessThan(10_000)
  })

  it.for([
    response('<ProductDateModifiedArray/>'),
    response('<ProductDateModifiedArray><ProductDateModified/></ProductDateModifiedArray>'),
    response(''),
    response(message(160)),
    response(message(160, 'Information')),
    response(`<ProductDateModifiedArray/>${message(999, 'Warning')}`),
  ])('accepts with %s', async (content) => {
    expect((await answering(200, soap(content))).outcome).toEqual({ outcome: 'accepted' })
  })

  it.for([100, 104, 105, 110, ' 105\n', '<![CDATA[105]]>', '&#49;05'])(
    'refuses by service message %s, with any status that may carry one',
    async (code) => {
      for (const status of [200, 401, 403, 500]) {
        const { outcome } = await answering(status, soap(response(message(code))))
        expect(outcome).toEqual({ outcome: 'refused' })
      }
    },
  )

  it('refuses also where an answer or another message stands beside the refusal', async () => {
    const content = response(`<ProductDateModifiedArray/>${message(160)}${message(105)}`)
    expect((await answering(200, soap(content))).outcome).toEqual({ outcome: 'refused' })
  })

  it('is understood whatever its namespace prefixes are', async () => {
    const odd = (namespace: string) => `<?xml version='1.0' encoding='UTF-8'?>
      <SOAP-ENV:Envelope xmlns:SOAP-ENV='http://schemas.xmlsoap.org/soap/envelope/'><SOAP-ENV:Header/>
      <SOAP-ENV:Body><ns9:GetProductDateModifiedResponse xmlns:ns9="http://www.promostandards.org/WSDL/ProductDataService/2.0.0/">
      <a:ServiceMessageArray xmlns:a="${namespace}"><a:ServiceMessage>
      <a:code>105</a:code></a:ServiceMessage></a:ServiceMessageArray>
      </ns9:GetProductDateModifiedResponse></SOAP-ENV:Body></SOAP-ENV:Envelope>`
    const shared = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/SharedObjects/'
    expect((await answering(200, odd(shared))).outcome).toEqual({ outcome: 'refused' })
    expect((await answering(200, odd('urn:another'))).outcome).toEqual({ outcome: 'accepted' })
  })

  it.for([115, 120, 125, 130, 155, 999, 1050, 10, '105 or so', ''])(
    'is at fault, and refuses nothing, with service message %s',
    async (code) => {
      expect((await answering(200, soap(response(message(code))))).outcome).toEqual({
        outcome: 'unreachable',
        reason: 'vendor_error',
      })
    },
  )

  it.for([
    fault('wsse:FailedAuthentication'),
    fault('e:Client.Authentication'),
    fault('e:Server', `<detail>${message(105)}</detail>`),
  ])('refuses by a fault that says authentication: %s', async (body) => {
    expect((await answering(500, body)).outcome).toEqual({ outcome: 'refused' })
  })

  it.for([
    fault('e:Client'),
    fault('e:Server'),
    fault('e:Server', '<detail>105: Authentication Credentials failed</detail>'),
    fault('wsse:InvalidSecurity'),
    '<html>Internal Server Error',
    '',
  ])('is at fault, and refuses nothing, with 500 and %s', async (body) => {
    expect((await answering(500, body)).outcome).toEqual({ outcome: 'unreachable', reason: 'vendor_error' })
  })

  it.for([
    [401, ''],
    [403, '<html>Request blocked'],
    [404, soap(response(message(105)))],
    [200, ''],
    [200, '<!doctype html><title>Sign in</title>'],
    [200, '{"code":105}'],
    [200, soap('')],
    [200, response('<ProductDateModifiedArray/>')],
    [200, soap('<GetProductDateModifiedResponse/>')],
    [200, soap(response('<ProductDateModifiedArray/>')).slice(0, -10)],
    [200, soap(response(message(105))).slice(0, -10)],
    [200, soap(response('')).replaceAll('schemas.xmlsoap.org/soap/envelope', 'www.w3.org/2003/05/soap-envelope')],
    [200, `${soap(response(''))}<more/>`],
    [200, `<!DOCTYPE e:Envelope>${soap(response('')).replace(/^<\?.*?\?>/, '')}`],
  ] as const)('is not understood when it answers %s %s', async ([status, body]) => {
    expect((await answering(status, body)).outcome).toEqual({ outcome: 'unreachable', reason: 'unexpected_response' })
  })
})

describe('a credential', () => {
  it.for(BOTH)('of %s that cannot be sent is told by field, without its value, and is not sent', async (adapter) => {
    const vendor = await startVendor((reply) => void reply.end(GOOD_ANSWER[adapter].body))
    for (const bad of [
      '',
      'a\0b',
      'a\tb',
      'a\nb',
      'a\r',
      '\u001B',
      '\u007F',
      '\u0085',
      '\uFFFE',
      '\uFFFF',
      'a\uD800b',
      '\uDC00',
    ]) {
      const faultsOf = (change: Partial<VendorCredential>) => credentialFaults(adapter, { ...CREDENTIAL, ...change })
      expect(faultsOf({ secret: bad })).toEqual([{ field: 'secret', detail: expect.stringMatching(/^must not /) }])
      expect(faultsOf({ accountNumber: bad })).toEqual([
        { field: 'account_number', detail: expect.stringMatching(/^must not /) },
      ])
      const urls = new Map([['tested', new URL(vendor.url)]])
      const sent = verifyCredential({ code: 'tested', name: '', adapter }, { ...CREDENTIAL, secret: bad }, { urls })
      await expect(sent).rejects.toThrow(new RangeError('The credential cannot be sent: secret'))
    }
    expect(vendor.requests).toEqual([])
    expect(credentialFaults(adapter, CREDENTIAL)).toEqual([])
  })

  it('may have a colon in its account number only where Basic does not carry it', () => {
    const credential = { accountNumber: '5:1', secret: 's:s' }
    expect(credentialFaults('ss-activewear', credential)).toEqual([
      { field: 'account_number', detail: 'must not contain a colon' },
    ])
    expect(credentialFaults('promostandards', credential)).toEqual([])
  })

  it('of a vendor without a URL is not checked', async () => {
    const vendor = { code: 'sanmar', name: 'SanMar', adapter: 'promostandards' } as const
    const outcome = await verifyCredential(vendor, CREDENTIAL, { urls: new Map() })
    expect(outcome).toEqual({ outcome: 'unreachable', reason: 'not_configured' })
  })
})
