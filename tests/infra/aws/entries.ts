import type * as v from 'valibot'
import type { Addresses } from '#infra/aws/addresses.ts'

type Entries = v.InferInput<typeof Addresses>

const certificateArn = 'arn:aws:acm:us-east-1:111122223333:certificate/one'

/** The front end of the entries below. */
export const webBaseUrl = 'https://app.shop.test'

/** A value for each optional entry of a stage in cdk.json, as an operator would write it. One without a value does not compile. */
export const OPTIONAL_ENTRIES = {
  account: '111122223333',
  region: 'us-east-1',
  cidr: '10.7.0.0/16',
  problemBaseUrl: 'https://docs.shop.test/problems',
  securityContact: 'mailto:security@shop.test',
  platform: {
    name: 'Shop platform',
    logoUrl: `${webBaseUrl}/logo.svg`,
    supportUrl: 'https://help.shop.test',
    privacyUrl: 'https://shop.test/privacy',
    accessibilityUrl: 'https://shop.test/accessibility',
    links: [{ name: 'Orders', url: 'https://orders.shop.test' }],
  },
  alarmEmail: 'night@shop.test',
  apiDomain: { name: 'api.shop.test', certificateArn },
  webDomain: { name: 'app.shop.test', certificateArn },
  zones: ['us-east-1b', 'us-east-1d'],
  trustedProxies: ['203.0.113.0/24', '2001:db8::/32'],
  launched: true,
  recovery: {
    region: 'us-west-2',
    backupVaults: [
      'arn:aws:backup:us-west-2:111122223333:backup-vault:copies',
      'arn:aws:backup:us-east-1:444455556666:backup-vault:copies',
    ],
  },
  restoreFrom: 'arn:aws:rds:us-east-1:111122223333:cluster-snapshot:last',
  vaultKeys: ['arn:aws:kms:us-west-2:111122223333:key/mrk-1'],
  credentialCallers: {
    catalog: 'arn:aws:iam::111122223333:role/catalog',
    orders: 'arn:aws:iam::777788889999:role/service/orders',
  },
  serviceAccounts: ['777788889999', '444455556666'],
  firewallSamples: true,
  restart: '2026-11-27',
} satisfies Required<Omit<Entries, 'webBaseUrl' | 'mailDomain'>>

/** The optional entries, each alone. */
export const EACH_ENTRY = Object.entries(OPTIONAL_ENTRIES).map(([name, value]): readonly [string, Partial<Entries>] => [
  name,
  { webBaseUrl, [name]: value },
])
