import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { startVendors, vendorAccounts } from '#infra/local/vendors/vendors.ts'

async function startedVendors() {
  const faults = createFaults()
  const vendors = await startVendors({ faults })
  onTestFinished(() => vendors.close())
  return { vendors, faults }
}

const accountOf = (code: string) => {
  const account = vendorAccounts.find((candidate) => candidate.code === code)
  if (account === undefined) throw new Error(`no account ${code}`)
  return account
}

const basic = (number: string, secret: string) => ({ authorization: `Basic ${btoa(`${number}:${secret}`)}` })

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const sellableRequest = (id: string, password: string) => `<?xml version="1.0"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
  xmlns:ns="http://www.promostandards.org/WSDL/ProductDataService/2.0.0/"
  xmlns:shar="http://www.promostandards.org/WSDL/ProductDataService/2.0.0/SharedObjects/">
  <soapenv:Body><ns:GetProductSellableRequest><shar:wsVersion>2.0.0</shar:wsVersion>
  <shar:id>${escape(id)}</shar:id><shar:password>${escape(password)}</shar:password><shar:isSellable>true</shar:isSellable>
  </ns:GetProductSellableRequest></soapenv:Body></soapenv:Envelope>`

describe('the local S&S-style vendor', () => {
  it.for(['/v2/styles', '/v2/styles/?style=2000'])('gives styles to its good account: %s', async (path) => {
    const { vendors } = await startedVendors()
    const { account_number, secret } = accountOf('ss-activewear')
    const response = await fetch(vendors.urls['ss-activewear'] + path, { headers: basic(account_number, secret) })
    expect(response.status).toBe(200)
    expect(await response.json()).toContainEqual(expect.objectContaining({ brandName: 'Gildan', styleName: '2000' }))
  })

  it('answers 401 to any other account', async () => {
    const { vendors } = await startedVendors()
    const { account_number, secret } = accountOf('ss-activewear')
    for (const headers of [{}, basic(account_number, 'wrong'), basic('1', secret), { authorization: 'Basic %' }]) {
      const response = await fetch(`${vendors.urls['ss-activewear']}/v2/styles`, { headers })
      expect([response.status, await response.json()]).toEqual([401, { message: expect.any(String) }])
    }
  })

  it('cuts the connection while it refuses', async () => {
    const { vendors, faults } = await startedVendors()
    await faults.set({ part: 'vendor', mode: 'refuse' })
    await expect(fetch(`${vendors.url}/v2/styles`)).rejects.toThrow('fetch failed')
    expect(faults.counts().vendor).toBeGreaterThanOrEqual(1)
  })
})

describe('the local PromoStandards vendor', () => {
  const call = async (body: string) => {
    const { vendors } = await startedVendors()
    const headers = { 'content-type': 'text/xml; charset=utf-8', soapaction: 'getProductSellable' }
    const response = await fetch(vendors.urls.sanmar, { method: 'POST', headers, body })
    return { status: response.status, text: await response.text() }
  }

  it('gives sellable products to its good account, whose secret needs escaping', async () => {
    const { account_number, secret } = accountOf('sanmar')
    const { status, text } = await call(sellableRequest(account_number, secret))
    expect(status).toBe(200)
    expect(text).toMatch(/<GetProductSellableResponse .*<s:productId>PC61<\/s:productId>/)
    expect(text).not.toContain('ServiceMessage')
  })

  it.for([
    ['284719', 'wrong', 105],
    ['1', 'local sanmar & sons 42', 105],
    ['', 'x', 100],
    ['284719', '', 110],
  ] as const)('says with 200 and a service message what is wrong with %s / %s', async ([id, password, code]) => {
    const { status, text } = await call(sellableRequest(id, password))
    expect(status).toBe(200)
    expect(text).toContain(`<s:code>${code}</s:code>`)
    expect(text).not.toContain('ProductSellableArray')
  })

  it('answers what is no request of its own with a SOAP fault', async () => {
    const { status, text } = await call('{}')
    expect([status, text]).toEqual([500, expect.stringContaining('<soap:Fault>')])
  })
})
