import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { startVendors, type VendorAccount, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'
import { credentialFaults, type Vendor, verifyCredential } from '#shared/suppliers/vendor.ts'
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

describe('verifyCredential with the local vendors', () => {
  it.for(vendorAccounts)('accepts the right credential of $code', async (account) => {
    const { check } = await localVendors()
    expect(await check(account)).toEqual({ outcome: 'accepted' })
  })

  it.for(vendorAccounts)('reports a wrong secret or account number of $code as refused', async (account) => {
    const { check } = await localVendors()
    expect(await check(account, { secret: 'wrong' })).toEqual({ outcome: 'refused' })
    expect(await check(account, { account_number: '1' })).toEqual({ outcome: 'refused' })
  })

  it.for(vendorAccounts)('reports failures of $code as unreachable, never as refused', async (account) => {
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

describe('S&S Activewear', () => {
  const answering = async (status: number, type: string, body: string) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status, { 'content-type': type }).end(body))
    return { vendor, outcome: await ask('ss-activewear', vendor.url) }
  }

  it('asks S&S Activewear for one field of one style with Basic authentication and nothing else', async () => {
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

  it('appends to the path of the configured S&S Activewear URL, with or without a trailing slash', async () => {
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
  ] as const)('reports refused when S&S Activewear responds %s %s', async ([status, type, body]) => {
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
  ] as const)('reports unexpected_response when S&S Activewear responds %s %s %s', async ([status, type, body]) => {
    expect((await answering(status, type, body)).outcome).toEqual({
      outcome: 'unreachable',
      reason: 'unexpected_response',
    })
  })
})

describe('PromoStandards', () => {
  const answering = async (status: number, body: string) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status, { 'content-type': 'text/xml' }).end(body))
    return { vendor, outcome: await ask('promostandards', `${vendor.url}/service?ws=1`) }
  }
  const fault = (code: string, detail = '') =>
    soap(`<e:Fault><faultcode>${code}</faultcode><faultstring>words</faultstring>${detail}</e:Fault>`)

  it('asks a PromoStandards vendor by SOAP 1.1 what changed in the last minute', async () => {
    const asked = Date.now()
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
    // The time on the wire has whole seconds.
    expect(Date.parse(since)).toBeGreaterThan(asked - 61_000)
    expect(Date.parse(since)).toBeLessThanOrEqual(Date.now() - 60_000)
  })

  it.for([
    response('<ProductDateModifiedArray/>'),
    response('<ProductDateModifiedArray><ProductDateModified/></ProductDateModifiedArray>'),
    response(''),
    response(message(160)),
    response(message(160, 'Information')),
    response(`<ProductDateModifiedArray/>${message(999, 'Warning')}`),
  ])('accepts the PromoStandards response %s', async (content) => {
    expect((await answering(200, soap(content))).outcome).toEqual({ outcome: 'accepted' })
  })

  it.for([100, 104, 105, 110, ' 105\n', '<![CDATA[105]]>', '&#49;05'])(
    'reports refused for PromoStandards service message %s with any status',
    async (code) => {
      for (const status of [200, 401, 403, 500]) {
        const { outcome } = await answering(status, soap(response(message(code))))
        expect(outcome).toEqual({ outcome: 'refused' })
      }
    },
  )

  it('reports refused when other messages stand beside the refusal', async () => {
    const content = response(`<ProductDateModifiedArray/>${message(160)}${message(105)}`)
    expect((await answering(200, soap(content))).outcome).toEqual({ outcome: 'refused' })
  })

  it('understands PromoStandards responses with any namespace prefixes', async () => {
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
    'reports vendor_error for PromoStandards service message %s',
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
  ])('reports refused for a SOAP fault about authentication: %s', async (body) => {
    expect((await answering(500, body)).outcome).toEqual({ outcome: 'refused' })
  })

  it.for([
    fault('e:Client'),
    fault('e:Server'),
    fault('e:Server', '<detail>105: Authentication Credentials failed</detail>'),
    fault('wsse:InvalidSecurity'),
    '<html>Internal Server Error',
    '',
  ])('reports vendor_error for status 500 with %s', async (body) => {
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
  ] as const)('reports unexpected_response when a PromoStandards vendor responds %s %s', async ([status, body]) => {
    expect((await answering(status, body)).outcome).toEqual({ outcome: 'unreachable', reason: 'unexpected_response' })
  })
})

describe('credentials', () => {
  it.for(BOTH)(
    'rejects a credential of %s that cannot be sent, names the field, and sends nothing',
    async (adapter) => {
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
        const code = bad === '' ? 'empty' : 'forbidden-character'
        const faultsOf = (change: Partial<VendorCredential>) => credentialFaults(adapter, { ...CREDENTIAL, ...change })
        expect(faultsOf({ secret: bad })).toMatchObject([{ field: 'secret', code }])
        expect(faultsOf({ accountNumber: bad })).toMatchObject([{ field: 'account_number', code }])
        const urls = new Map([['tested', new URL(vendor.url)]])
        const sent = verifyCredential({ code: 'tested', name: '', adapter }, { ...CREDENTIAL, secret: bad }, { urls })
        await expect(sent).rejects.toThrow(new RangeError('The credential cannot be sent: secret'))
      }
      expect(vendor.requests).toEqual([])
      expect(credentialFaults(adapter, CREDENTIAL)).toEqual([])
    },
  )

  it('rejects a colon in the account number only for vendors with Basic authentication', () => {
    const credential = { accountNumber: '5:1', secret: 's:s' }
    expect(credentialFaults('ss-activewear', credential)).toEqual([
      { field: 'account_number', code: 'forbidden-character', character: 'a colon' },
    ])
    expect(credentialFaults('promostandards', credential)).toEqual([])
  })

  it('reports not_configured for a vendor without a URL', async () => {
    const vendor = { code: 'sanmar', name: 'SanMar', adapter: 'promostandards' } as const
    const outcome = await verifyCredential(vendor, CREDENTIAL, { urls: new Map() })
    expect(outcome).toEqual({ outcome: 'unreachable', reason: 'not_configured' })
  })
})
