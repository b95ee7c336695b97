/** The prices are as known on this day. Compare them with the pages that they name: AWS changes them, and nothing here reads the pages. */
export const PRICES_OF = '2026-11-27'

interface Price {
  readonly usd: number
  /** What the price is for. */
  readonly per: string
  /** AWS's page with the price. */
  readonly page: string
}

/** A price that falls with the volume of a month: what each unit costs up to a number of units. The last tier has no end. */
interface Tiers extends Omit<Price, 'usd'> {
  readonly tiers: readonly (readonly [upTo: number, usd: number])[]
}

const page = (name: string): string => `https://aws.amazon.com/${name}/pricing/`

/** List prices of us-east-1, without the free tier and without commitments. */
export const PRICES = {
  acu: { usd: 0.12, per: 'hour of an Aurora capacity unit', page: page('rds/aurora') },
  storage: { usd: 0.1, per: 'GB of Aurora storage and month', page: page('rds/aurora') },
  io: { usd: 0.2, per: 'million I/Os of Aurora', page: page('rds/aurora') },
  backup: { usd: 0.021, per: 'GB of backups beyond one size of the database, and month', page: page('rds/aurora') },
  natGateway: { usd: 0.045, per: 'hour of a NAT gateway', page: page('vpc') },
  natData: { usd: 0.045, per: 'GB through a NAT gateway', page: page('vpc') },
  address: { usd: 0.005, per: 'hour of a public IPv4 address', page: page('vpc') },
  natInstance: { usd: 0.0042, per: 'hour of a t4g.nano', page: page('ec2/on-demand') },
  disk: { usd: 0.08, per: 'GB of gp3 and month', page: page('ebs') },
  gateway: {
    tiers: [
      [333, 3.5],
      [1000, 2.8],
      [20_000, 2.38],
      [Infinity, 1.51],
    ],
    per: 'million requests to a REST API',
    page: page('api-gateway'),
  },
  firewall: { usd: 5, per: 'web ACL and month', page: page('waf') },
  firewallRule: { usd: 1, per: 'rule of a web ACL and month', page: page('waf') },
  firewallRequests: { usd: 0.6, per: 'million requests to a web ACL', page: page('waf') },
  invocations: { usd: 0.2, per: 'million invocations', page: page('lambda') },
  compute: { usd: 0.0000133334, per: 'GB-second of a function on arm64', page: page('lambda') },
  xray: { usd: 5, per: 'million recorded traces', page: page('xray') },
  logs: { usd: 0.5, per: 'GB of logs written', page: page('cloudwatch') },
  logStorage: {
    usd: 0.03,
    per: 'GB of logs and month; a tenth of the written size, compressed',
    page: page('cloudwatch'),
  },
  alarmMetric: { usd: 0.1, per: 'metric of an alarm and month', page: page('cloudwatch') },
  metric: { usd: 0.3, per: 'custom metric and month', page: page('cloudwatch') },
  dashboard: { usd: 3, per: 'dashboard and month', page: page('cloudwatch') },
  key: { usd: 1, per: 'KMS key and month', page: page('kms') },
  secret: { usd: 0.4, per: 'secret and month', page: page('secrets-manager') },
  mail: { usd: 0.1, per: 'thousand mails', page: page('ses') },
  event: { usd: 1, per: 'million events', page: page('eventbridge') },
  dataOut: {
    tiers: [
      [10_240, 0.09],
      [51_200, 0.085],
      [Infinity, 0.07],
    ],
    per: 'GB to the internet',
    page: page('ec2/on-demand'),
  },
} as const satisfies Readonly<Record<string, Price | Tiers>>

export type PriceName = keyof typeof PRICES

/** Returns the price of a quantity, in USD. */
export function cost(name: PriceName, quantity: number): number {
  const price: Price | Tiers = PRICES[name]
  if ('usd' in price) return price.usd * quantity
  let [sum, from] = [0, 0]
  for (const [upTo, usd] of price.tiers) {
    sum += Math.max(0, Math.min(quantity, upTo) - from) * usd
    from = upTo
  }
  return sum
}
