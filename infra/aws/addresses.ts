import * as v from 'valibot'
import { ServiceName } from '#shared/base/service-name.ts'
import { Cidr } from '#shared/schema/trusted-proxies.ts'

const AccountId = v.pipe(v.string(), v.regex(/^\d{12}$/, 'an account has 12 digits'))

/** The operator's own names and addresses for a stage. They are in cdk.json, under the stage's name. */
export const Addresses = v.strictObject({
  /**
   * The account and the Region of the stage. The CDK refuses credentials of another account, and deploys to no other Region. A stage
   * that keeps its data requires both.
   */
  account: v.optional(AccountId),
  region: v.optional(v.pipe(v.string(), v.regex(/^[a-z]{2}(-[a-z]+)+-\d$/))),
  /**
   * The VPC's addresses, a block of /16 to /18. Networks that are connected need different ones. It cannot be changed: another
   * value replaces the VPC and with it the database.
   */
  cidr: v.optional(v.pipe(v.string(), v.regex(/^\d+(\.\d+){3}\/1[678]$/)), '10.0.0.0/16'),
  /** The front end: links in mails start with it. */
  webBaseUrl: v.pipe(v.string(), v.url()),
  /** The domain of the sender of mails. */
  mailDomain: v.string(),
  /** The base URL of the problem type documents. Default: `webBaseUrl` + `/problems`. */
  problemBaseUrl: v.optional(v.pipe(v.string(), v.url())),
  /** Where people report a vulnerability, for `security.txt`: an `https:` or `mailto:` address. */
  securityContact: v.optional(v.pipe(v.string(), v.url())),
  /** How people know the platform. Default of the name: Tenantry; of the others: none. infra/README.md says what each setting takes. */
  platform: v.optional(
    v.strictObject({
      name: v.optional(v.string()),
      logoUrl: v.optional(v.string()),
      supportUrl: v.optional(v.string()),
      privacyUrl: v.optional(v.string()),
      accessibilityUrl: v.optional(v.string()),
      links: v.optional(v.array(v.strictObject({ name: v.string(), url: v.string() }))),
    }),
    {},
  ),
  /**
   * Receives the alarms once the address has confirmed its subscription. A stage that keeps its data requires it. Without it,
   * subscribe to the topic by hand.
   */
  alarmEmail: v.optional(v.pipe(v.string(), v.email())),
  /**
   * The API's own domain, and the ARN of its ACM certificate, which must be in the stage's region. A stage that keeps its data
   * requires it, or null: every client keeps the address that it starts with.
   */
  apiDomain: v.optional(v.nullable(v.object({ name: v.string(), certificateArn: v.string() }))),
  /**
   * The front end's own domain, the one of `webBaseUrl`, and the ARN of its ACM certificate, which must be in the stage's region.
   * Without it, nobody reaches the front end. A stage that keeps its data requires it, or null: another server is the front end.
   */
  webDomain: v.optional(v.nullable(v.object({ name: v.string(), certificateArn: v.string() }))),
  /** The two availability zones, by name. Default: the first two of the region. Their names differ between accounts. */
  zones: v.optional(v.tuple([v.string(), v.string()])),
  /**
   * The addresses of the front end's servers, as CIDR blocks. They must set `X-Forwarded-For` to the address of their
   * client. Limits and the firewall then count that address.
   */
  trustedProxies: v.optional(v.array(Cidr), []),
  /**
   * Whether the stage serves users. Turns on the deletion protection of a stage that keeps its data. Before, CloudFormation must
   * be able to delete what a failed first deployment created.
   */
  launched: v.optional(v.boolean(), false),
  /**
   * Copies for the loss of the region or of the account: `region` receives the pepper and the mail key, and `backupVaults` are
   * the ARNs of vaults of AWS Backup that receive a copy of each daily backup of the database.
   */
  recovery: v.optional(
    v.object({ region: v.string(), backupVaults: v.array(v.pipe(v.string(), v.regex(/^arn:aws[\w-]*:backup:/))) }),
  ),
  /**
   * The ARN of a cluster snapshot that a new stack's database begins with. It must stay for the life of the stack: without it
   * CloudFormation replaces the database with an empty one.
   */
  restoreFrom: v.optional(v.pipe(v.string(), v.regex(/^arn:aws[\w-]*:rds:/))),
  /**
   * The ARNs of further KMS keys for tenants' data keys. The first wraps new data keys, and `operate rewrap` moves existing
   * ones to it. Their key policies must allow the stage's roles to use them.
   */
  vaultKeys: v.optional(v.pipe(v.array(v.pipe(v.string(), v.startsWith('arn:'))), v.nonEmpty())),
  /**
   * The services that may open vendor credentials, and the ARN of the role of each. The role must exist when the stage is
   * deployed. The audit log of a tenant names the service.
   */
  credentialCallers: v.optional(
    v.record(ServiceName, v.pipe(v.string(), v.regex(/^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/))),
    {},
  ),
  /** Other accounts whose services may ask `authorize`, and read the bus by rules of their own. */
  serviceAccounts: v.optional(v.array(AccountId), []),
  /** Whether the firewalls keep samples of requests, with addresses, for three hours: to see which rule refused a customer. */
  firewallSamples: v.optional(v.boolean(), false),
  /** Any text. Another one starts new instances of all functions, so that they read their secrets again. */
  restart: v.optional(v.string()),
})

export type Addresses = v.InferOutput<typeof Addresses>

/** Returns the settings of the functions that say how people know the platform. */
export const platformSettings = ({ platform }: Addresses): Readonly<Record<string, string>> => ({
  ...(platform.name === undefined ? {} : { PLATFORM_NAME: platform.name }),
  PLATFORM_LOGO_URL: platform.logoUrl ?? '',
  SUPPORT_URL: platform.supportUrl ?? '',
  PRIVACY_URL: platform.privacyUrl ?? '',
  ACCESSIBILITY_URL: platform.accessibilityUrl ?? '',
  PLATFORM_LINKS: platform.links === undefined ? '' : JSON.stringify(platform.links),
})

// https://www.rfc-editor.org/rfc/rfc2606 and https://www.rfc-editor.org/rfc/rfc6761: nobody can own these.
const RESERVED = /(^|[.@])(example|test|invalid|localhost|example\.(com|net|org))$/i

/** Returns what must be filled in before a stage with real data is deployed. */
export function addressFaults(addresses: v.InferInput<typeof Addresses>): string[] {
  const { account, region, webBaseUrl, mailDomain, problemBaseUrl, alarmEmail, apiDomain, webDomain } = addresses
  const host = (url: string | undefined) => (url === undefined ? undefined : new URL(url).hostname)
  const named = {
    webBaseUrl: host(webBaseUrl),
    mailDomain,
    problemBaseUrl: host(problemBaseUrl),
    alarmEmail,
    apiDomain: apiDomain?.name,
    webDomain: webDomain?.name,
  }
  return [
    ...(account === undefined || region === undefined
      ? ['account or region is missing: other credentials would create a second stage elsewhere']
      : []),
    ...(alarmEmail === undefined ? ['alarmEmail is missing: nobody would be told of an alarm'] : []),
    ...(apiDomain === undefined
      ? [
          'apiDomain is missing: clients would have to change their address later. Null serves the address of API Gateway',
        ]
      : []),
    ...(webDomain === undefined
      ? ['webDomain is missing: nobody would reach a page. Null: another server is the front end']
      : []),
    ...(webDomain && webDomain.name !== host(webBaseUrl)
      ? [`webDomain is not the domain of webBaseUrl: links in mails would lead elsewhere`]
      : []),
    ...Object.entries(named)
      .filter(([, value]) => value !== undefined && RESERVED.test(value))
      .map(([name, value]) => `${name} is a placeholder: ${value}`),
  ]
}
