/** The numbers in which stages differ; everything else is the same in all of them. */
export interface Stage {
  /** Each zone beyond the first survives the loss of another; each NAT gateway costs as much as a small database. */
  readonly natGateways: number
  readonly database: {
    /** Aurora capacity units. No less than 0.5: at 0 it sleeps, and the first request waits 15 s for it. */
    readonly minCapacity: number
    readonly maxCapacity: number
    /** Instances beside the writer, each in another zone, one of which takes over in its place. */
    readonly readers: number
    readonly backupDays: number
    /** Whether the database, its keys and its logs outlive the stack. */
    readonly keep: boolean
    /** RDS Proxy before the database. Worth its price only when more instances run than the database takes connections. */
    readonly proxy: boolean
  }
  /** By the function's name; `default` for all others. */
  readonly memoryMib: Readonly<Record<string, number>> & { readonly default: number }
  /**
   * The most instances of a function at once, and so of its connections, by the function's name. Null leaves it to the
   * account, whose quota is 10 when it is new and then has none to reserve.
   */
  readonly concurrency: (Readonly<Record<string, number>> & { readonly default: number }) | null
  /** Of the whole API, requests a second and at once; over it API Gateway answers 429. */
  readonly throttle: { readonly rate: number; readonly burst: number }
  /** Requests of one address in five minutes, over which the firewall answers 403: to all routes, and to those without a session. */
  readonly firewall: { readonly perAddress: number; readonly signInPerAddress: number }
  readonly logDays: number
}

// One vCPU comes with 1769 MiB (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html): a password hash
// then takes as long as was measured, and no longer.
const memoryMib = { default: 512, auth: 1769, migrate: 1024 }

export const STAGES = {
  dev: {
    natGateways: 1,
    database: { minCapacity: 0.5, maxCapacity: 2, readers: 0, backupDays: 1, keep: false, proxy: false },
    memoryMib,
    concurrency: null,
    throttle: { rate: 50, burst: 100 },
    firewall: { perAddress: 10_000, signInPerAddress: 1000 },
    logDays: 14,
  },
  staging: {
    natGateways: 1,
    database: { minCapacity: 0.5, maxCapacity: 4, readers: 0, backupDays: 7, keep: true, proxy: false },
    memoryMib,
    concurrency: {
      default: 20,
      auth: 60,
      openapi: 5,
      maintain: 1,
      measure: 1,
      'verify-vendors': 1,
      'deliver-mail': 2,
      operate: 2,
      migrate: 1,
    },
    throttle: { rate: 200, burst: 400 },
    firewall: { perAddress: 10_000, signInPerAddress: 1000 },
    logDays: 30,
  },
  prod: {
    natGateways: 2,
    database: { minCapacity: 1, maxCapacity: 16, readers: 1, backupDays: 35, keep: true, proxy: false },
    memoryMib,
    concurrency: {
      default: 40,
      auth: 200,
      health: 10,
      openapi: 10,
      maintain: 1,
      measure: 1,
      'verify-vendors': 2,
      'deliver-mail': 4,
      operate: 2,
      migrate: 1,
    },
    throttle: { rate: 1000, burst: 2000 },
    firewall: { perAddress: 5000, signInPerAddress: 500 },
    logDays: 365,
  },
} as const satisfies Record<string, Stage>

/** Where the vendors' interfaces are, the same for every stage: the base of the REST one, the product data service of the SOAP one. */
export const VENDOR_URLS = {
  'ss-activewear': 'https://api.ssactivewear.com',
  sanmar: 'https://ws.sanmar.com:8080/promostandards/ProductDataServiceBindingV2',
}
