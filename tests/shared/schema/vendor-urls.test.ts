import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { VendorUrlsSetting } from '#shared/schema/vendor-urls.ts'

describe('the setting VENDOR_URLS', () => {
  it('parses a map from vendor code to URL, empty by default', () => {
    expect(v.parse(VendorUrlsSetting, undefined)).toEqual(new Map())
    const urls = v.parse(
      VendorUrlsSetting,
      '{"ss-activewear":"https://api.ssactivewear.com","hit":"https://ppds.hitpromo.net/productData?ws=1"}',
    )
    expect(Array.from(urls, ([code, url]) => [code, url.href])).toEqual([
      ['ss-activewear', 'https://api.ssactivewear.com/'],
      ['hit', 'https://ppds.hitpromo.net/productData?ws=1'],
    ])
  })

  it.for(['http://127.0.0.1:8080/x', 'http://localhost', 'http://[::1]:1/'])(
    'allows plain HTTP to this machine: %s',
    (url) => {
      expect(v.parse(VendorUrlsSetting, JSON.stringify({ sanmar: url })).get('sanmar')?.href).toContain(url)
    },
  )

  it.for([
    'https:',
    'nowhere',
    '["https://a.example"]',
    '"https://a.example"',
    'null',
    '1',
    '{"sanmar":1}',
    '{"sanmar":null}',
    '{"sanmar":""}',
    '{"sanmar":"a.example/secret"}',
    '{"sanmar":"http://a.example/secret"}',
    '{"sanmar":"http://127.0.0.1.a.example/secret"}',
    '{"sanmar":"http://localhost@a.example/secret"}',
    '{"sanmar":"https://user:secret@a.example"}',
    '{"sanmar":"https://a.example/#secret"}',
    '{"sanmar":"ftp://a.example/secret"}',
    '{"sanmar":"file:///secret"}',
    '{"SanMar secret":"https://a.example"}',
    '{"":"https://a.example"}',
  ])('rejects the vendor URLs %s without repeating them', (text) => {
    const parsed = v.safeParse(VendorUrlsSetting, text)
    expect(parsed.success).toBe(false)
    for (const { message } of parsed.issues ?? []) {
      expect(message).toMatch(/^must (be|hold|have) /)
      expect(message).not.toContain('secret')
    }
  })
})
