interface Throttle {
  readonly rate: number
  readonly burst: number
}

/** The settings that differ between stages. Everything else is the same in all of them. */
export interface Stage {
  /**
   * NAT gateways. One for each availability zone keeps the functions of a zone online when another zone fails. `instance` is one small
   * server instead, for a fifth of the price of one gateway: while it is replaced, functions reach the database and nothing else.
   */
  readonly nat: 1 | 2 | 'instance'
  readonly database: {
    /**
     * Aurora capacity units, of 2 GiB each. At least 0.5: at 0 the database pauses, and the next request waits 15 s for it.
     * From 2 on the stage has Database Insights, which needs that much.
     */
    readonly minCapacity: number
    readonly maxCapacity: number
    /** Instances besides the writer, each in another zone. One takes over when the writer fails. */
    readonly readers: number
    readonly backupDays: number
    /** When AWS may restart the database, in UTC and of 30 minutes or more. Staging comes days before prod. */
    readonly maintenance: string
    /** Whether AWS installs minor versions of Postgres. Otherwise a deployment does, after staging had the version. */
    readonly minorUpgrades: boolean
    /** Whether the database, its keys and its logs survive the deletion of the stack. */
    readonly keep: boolean
    /** RDS Proxy in front of the database. Pays only when more instances run than the database accepts connections. */
    readonly proxy: boolean
  }
  /** By function name; `default` for all others. */
  readonly memoryMib: Readonly<Record<string, number>> & { readonly default: number }
  /**
   * Reserved Lambda concurrency, which also limits the function's database connections. `group` applies to each route
   * group and `worker` to each worker that is not in `named`. Null reserves none: a new account has a quota of 10, too few to
   * reserve any.
   */
  readonly concurrency: {
    readonly group: number
    readonly worker: number
    readonly named: Readonly<Record<string, number>>
  } | null
  /**
   * API Gateway's limits for each method of each path: requests per second, and burst. It refuses more with 429. `signIn` is
   * for the methods that need no session and write or compute a hash.
   */
  readonly throttle: Throttle & { readonly signIn: Throttle }
  /**
   * Requests in five minutes, per IP address on all routes and on the sign-in routes, and of everybody together. The firewall
   * refuses more with 403. Null has no firewall: the throttles alone limit a flood, and AWS's rules refuse nothing.
   */
  readonly firewall: {
    readonly perAddress: number
    readonly signInPerAddress: number
    readonly together: number
  } | null
  /**
   * Whether the vault key can get a replica in another Region, without which vendor secrets cannot be decrypted there. It
   * costs nothing and cannot be changed: another value replaces the key.
   */
  readonly multiRegionVaultKey: boolean
  readonly logDays: number
  /**
   * Whether X-Ray traces the functions: one invocation a second and 5 % of the others, at 5 USD a million
   * (https://aws.amazon.com/xray/pricing/). The metrics of the functions show the same times.
   */
  readonly tracing: boolean
  /** The costs of the whole account in a month, other stages and services in it included. More than this, spent or forecast, is mailed to the stage's `alarmEmail`. */
  readonly monthlyBudgetUsd: number
  /** Whether a release gets 10 % of the invocations for five minutes, and goes back if an alarm goes off. */
  readonly canary: boolean
  /** Settings of the functions that differ from their defaults in shared/base/config.ts, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>
}

// 1769 MiB come with one full vCPU (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html), which a
// password hash needs to be as fast as measured.
const memoryMib = { default: 512, auth: 1769, migrate: 1024, web: 1024 }

const PUBLIC_SETTINGS = {
  // https://haveibeenpwned.com/API/v3#PwnedPasswords. It needs no key and has no limit of requests.
  PWNED_PASSWORDS_URL: 'https://api.pwnedpasswords.com',
  SESSION_SLIDE_STEP_SECONDS: '60',
}

export const STAGES = {
  dev: {
    nat: 'instance',
    database: {
      minCapacity: 0.5,
      maxCapacity: 2,
      readers: 0,
      backupDays: 1,
      maintenance: 'mon:08:00-mon:09:00',
      minorUpgrades: true,
      keep: false,
      proxy: false,
    },
    memoryMib,
    concurrency: null,
    throttle: { rate: 50, burst: 100, signIn: { rate: 20, burst: 40 } },
    firewall: null,
    multiRegionVaultKey: false,
    logDays: 14,
    tracing: false,
    monthlyBudgetUsd: 200,
    canary: false,
  },
  staging: {
    nat: 1,
    database: {
      minCapacity: 0.5,
      maxCapacity: 4,
      readers: 0,
      backupDays: 7,
      maintenance: 'tue:08:00-tue:09:00',
      minorUpgrades: true,
      keep: true,
      proxy: false,
    },
    memoryMib,
    concurrency: {
      group: 20,
      worker: 1,
      named: {
        auth: 60,
        authorize: 30,
        web: 60,
        openapi: 5,
        'not-found': 5,
        'deliver-mail': 2,
        'publish-events': 2,
        'record-bounces': 2,
        'sync-catalog': 2,
        'open-credential': 2,
        operate: 2,
        // The rotations of all logins may begin in the same minute.
        'rotate-password': 10,
      },
    },
    throttle: { rate: 200, burst: 400, signIn: { rate: 50, burst: 100 } },
    firewall: { perAddress: 10_000, signInPerAddress: 1000, together: 180_000 },
    multiRegionVaultKey: true,
    logDays: 30,
    tracing: false,
    monthlyBudgetUsd: 200,
    canary: true,
    settings: PUBLIC_SETTINGS,
  },
  prod: {
    nat: 2,
    // 1 unit per instance serves 250 requests a second (infra/scale.md). 2 units cost 175 USD a month more: they have Database Insights,
    // and memory for all 744 connections at once, before Aurora adds any.
    database: {
      minCapacity: 1,
      maxCapacity: 16,
      readers: 1,
      backupDays: 35,
      maintenance: 'sun:08:00-sun:09:00',
      minorUpgrades: false,
      keep: true,
      proxy: false,
    },
    memoryMib,
    concurrency: {
      group: 40,
      worker: 1,
      named: {
        auth: 150,
        authorize: 150,
        web: 120,
        // Managers change keys, and few programs ask what theirs may do.
        'api-keys': 10,
        health: 10,
        openapi: 10,
        'not-found': 5,
        'verify-vendors': 2,
        'deliver-mail': 4,
        'publish-events': 4,
        'sync-catalog': 4,
        'record-bounces': 2,
        'open-credential': 4,
        operate: 2,
        // The rotations of all logins may begin in the same minute.
        'rotate-password': 10,
      },
    },
    throttle: { rate: 1000, burst: 2000, signIn: { rate: 200, burst: 400 } },
    firewall: { perAddress: 5000, signInPerAddress: 500, together: 900_000 },
    multiRegionVaultKey: true,
    logDays: 365,
    tracing: false,
    monthlyBudgetUsd: 1000,
    canary: true,
    settings: PUBLIC_SETTINGS,
  },
} as const satisfies Record<string, Stage>

/** Returns how many instances a function reserves, or null when the stage reserves none. */
export const reservedConcurrency = ({ concurrency }: Stage, kind: 'group' | 'worker', name: string): number | null =>
  concurrency === null ? null : (concurrency.named[name] ?? concurrency[kind])

/** The vendors' APIs, the same for every stage: a base URL for REST; for SOAP the services for product data and for pricing. */
export const VENDOR_URLS = {
  'ss-activewear': 'https://api.ssactivewear.com',
  sanmar: 'https://ws.sanmar.com:8080/promostandards/ProductDataServiceBindingV2',
  'sanmar-pricing': 'https://ws.sanmar.com:8080/promostandards/PricingAndConfigurationServiceBinding',
}
