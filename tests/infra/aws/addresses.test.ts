import { describe, expect, it } from 'vitest'
import { addressFaults } from '#infra/aws/addresses.ts'
import { synthesized } from './synthesized.ts'
import { functionsOf, other, prod } from './two-stages.ts'

describe('the addresses of a stage', () => {
  const filled = {
    account: '111122223333',
    region: 'us-east-1',
    webBaseUrl: 'https://shop.de',
    mailDomain: 'mail.shop.de',
    alarmEmail: 'night@shop.de',
    apiDomain: null,
    webDomain: null,
  }
  const webDomain = (name: string) => ({ webDomain: apiDomain(name).apiDomain })
  const apiDomain = (name: string) => ({
    apiDomain: { name, certificateArn: 'arn:aws:acm:us-east-1:1:certificate/one' },
  })

  it.each([
    [{}, []],
    [apiDomain('api.testing.shop.de'), []],
    [{ region: undefined }, ['account or region is missing: other credentials would create a second stage elsewhere']],
    [
      { apiDomain: undefined },
      [
        'apiDomain is missing: clients would have to change their address later. Null serves the address of API Gateway',
      ],
    ],
    [
      { webDomain: undefined },
      ['webDomain is missing: nobody would reach a page. Null: another server is the front end'],
    ],
    [webDomain('shop.de'), []],
    [webDomain('app.shop.de'), ['webDomain is not the domain of webBaseUrl: links in mails would lead elsewhere']],
    [{ alarmEmail: undefined }, ['alarmEmail is missing: nobody would be told of an alarm']],
    [{ alarmEmail: 'night@shop.example' }, ['alarmEmail is a placeholder: night@shop.example']],
    [{ webBaseUrl: 'https://example.com/app' }, ['webBaseUrl is a placeholder: example.com']],
    [{ mailDomain: 'example' }, ['mailDomain is a placeholder: example']],
    [{ problemBaseUrl: 'https://shop.test/problems' }, ['problemBaseUrl is a placeholder: shop.test']],
    [apiDomain('API.EXAMPLE'), ['apiDomain is a placeholder: API.EXAMPLE']],
  ])(
    'are refused without an account, an alarm email or a choice of the API’s domain, or with a domain that nobody can own: %j',
    (change, faults) => {
      expect(addressFaults({ ...filled, ...change })).toEqual(faults)
    },
  )
})

describe('the name of the platform and its addresses', () => {
  it('are settings of the functions, which have the defaults where cdk.json names none', () => {
    const variables = (stage: typeof prod, name: string) =>
      functionsOf(stage, name).get('deliver-mail')?.Properties.Environment.Variables
    expect(variables(other, 'dev')).toMatchObject({
      PLATFORM_NAME: 'Prints',
      SUPPORT_URL: 'mailto:help@prints.test',
      PRIVACY_URL: '',
      PLATFORM_LINKS: '[{"name":"Quotes","url":"https://quotes.prints.test"}]',
    })
    expect(variables(prod, 'prod')).toMatchObject({ PLATFORM_LINKS: '', SUPPORT_URL: '' })
    expect(variables(prod, 'prod')).not.toHaveProperty('PLATFORM_NAME')
  })

  it('stop the synthesis where one does not parse, and name it', async () => {
    const addresses = { platform: { supportUrl: 'help@prints.test' } }
    await expect(synthesized('dev', { addresses })).rejects.toThrow('SUPPORT_URL must be an https: or http: or mailto:')
  })
})

describe('the mail domain', () => {
  it('has DKIM, MAIL FROM and DMARC records among the outputs', () => {
    const records = [...prod.outputs].filter(([name]) => name.startsWith('MailRecord')).map(([, value]) => value)
    expect(records.slice(0, 3).map((value) => JSON.stringify(value))).toEqual(
      [1, 2, 3].map((index) =>
        expect.stringMatching(new RegExp(`DkimDNSTokenName${index}.* CNAME .*DkimDNSTokenValue${index}`)),
      ),
    )
    expect(records.slice(3).map((value) => prod.named(value))).toEqual([
      'bounce.tenantry.example MX 10 feedback-smtp..amazonses.com',
      'bounce.tenantry.example TXT "v=spf1 include:amazonses.com ~all"',
      '_dmarc.tenantry.example TXT "v=DMARC1; p=none"',
    ])
  })
})
