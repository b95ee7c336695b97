import { isIP } from 'node:net'
import { CfnIPSet, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'
import type { Stage } from '#infra/stages.ts'

type Statement = CfnWebACL.StatementProperty

const WINDOW_SECONDS = 300

// These managed rules only count. Those on bodies and their size would refuse valid passwords and secrets, which the
// functions check themselves. Clients may omit the user agent.
// https://docs.aws.amazon.com/waf/latest/developerguide/aws-managed-rule-groups-baseline.html
const COUNT_ONLY = {
  common: [
    'SizeRestrictions_BODY',
    'CrossSiteScripting_BODY',
    'EC2MetaDataSSRF_BODY',
    'GenericLFI_BODY',
    'GenericRFI_BODY',
    'NoUserAgent_HEADER',
  ],
  badRequests: ['JavaDeserializationRCE_BODY', 'Log4JRCE_BODY', 'ReactJSRCE_BODY'],
}

/** The groups of rules that AWS maintains, in their order. */
export const MANAGED_RULES = ['bad-addresses', 'bad-requests', 'common'] as const

const MANAGED = {
  'bad-addresses': { group: 'AWSManagedRulesAmazonIpReputationList', countOnly: [] },
  'bad-requests': { group: 'AWSManagedRulesKnownBadInputsRuleSet', countOnly: COUNT_ONLY.badRequests },
  common: { group: 'AWSManagedRulesCommonRuleSet', countOnly: COUNT_ONLY.common },
} as const

/**
 * The firewall in front of the API. It refuses floods from one IP address, and known bad addresses and requests, with the
 * gateway's 403. Its limits per address are far above the API's documented rate limits. The limit for everybody together is
 * what a stage may cost and take of the account's quota. It keeps no log, because that would contain IP
 * addresses.
 *
 * A request of a trusted proxy counts for the address in its `X-Forwarded-For`, if that is one address and nothing else.
 * AWS WAF can only take the first one of a list, which the client may have written. Every other request counts for the
 * address that it comes from.
 */
export class Firewall extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      /** `tenantry-STAGE`, or another name for another API. */
      name: string
      resourceArn: string
      /** Holds for what is counted as a sign-in if it is a POST. */
      signIn: Statement
      config: NonNullable<Stage['firewall']>
      /** Whether AWS WAF keeps some requests for three hours, with their headers and addresses. */
      sampled: boolean
      trustedProxies: readonly string[]
    },
  ) {
    super(scope, id)
    const { name: aclName, resourceArn, signIn, config, sampled, trustedProxies } = props
    const visible = (name: string) => ({
      sampledRequestsEnabled: sampled,
      cloudWatchMetricsEnabled: true,
      metricName: `${aclName}-${name}`,
    })
    const rule = (name: string, statement: Statement): CfnWebACL.RuleProperty => ({
      name,
      priority: 0,
      statement,
      visibilityConfig: visible(name),
      // A rate limit blocks. A managed group keeps the action of each of its rules.
      ...(statement.rateBasedStatement === undefined ? { overrideAction: { none: {} } } : { action: { block: {} } }),
    })
    const forwarded = this.forwarded(aclName, trustedProxies)
    const limits = (prefix: string, limit: number, ...scope: Statement[]) =>
      forwarded === null
        ? [rule(`${prefix}by-address`, rate(limit, BY_SOURCE, scope))]
        : [
            rule(`${prefix}by-address`, rate(limit, BY_SOURCE, [...scope, { notStatement: { statement: forwarded } }])),
            rule(`${prefix}by-forwarded-address`, rate(limit, BY_FORWARDED, [...scope, forwarded])),
          ]
    const rules = [
      ...limits('', config.perAddress),
      ...limits('sign-in-', config.signInPerAddress, signIn, isPost),
      ...MANAGED_RULES.map((name) => rule(name, managed(MANAGED[name]))),
      // Last, so that what another rule refuses does not count.
      rule('together', rate(config.together, TOGETHER, [isAny])),
    ]
    const acl = new CfnWebACL(this, 'Acl', {
      name: aclName,
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visible('firewall'),
      rules: rules.map((each, priority) => Object.assign(each, { priority })),
    })
    new CfnWebACLAssociation(this, 'Association', { resourceArn, webAclArn: acl.attrArn })
  }

  /** Returns the statement that holds for a request with one forwarded address, from a trusted proxy. Null without proxies. */
  private forwarded(aclName: string, proxies: readonly string[]): Statement | null {
    const sets = ([4, 6] as const).flatMap((version): Statement[] => {
      const addresses = proxies.filter((block) => isIP(block.split('/', 1)[0] ?? '') === version)
      if (addresses.length === 0) return []
      const set = new CfnIPSet(this, `Proxies${version}`, {
        name: `${aclName}-proxies-${version}`,
        scope: 'REGIONAL',
        ipAddressVersion: `IPV${version}`,
        addresses,
      })
      return [{ ipSetReferenceStatement: { arn: set.attrArn } }]
    })
    const [first, second] = sets
    if (first === undefined) return null
    return both(second === undefined ? first : { orStatement: { statements: sets } }, hasOneAddress)
  }
}

const both = (...statements: Statement[]): Statement => ({ andStatement: { statements } })

const BY_SOURCE = { aggregateKeyType: 'IP' }
const BY_FORWARDED = {
  aggregateKeyType: 'FORWARDED_IP',
  forwardedIpConfig: { headerName: 'X-Forwarded-For', fallbackBehavior: 'MATCH' },
}

const TOGETHER = { aggregateKeyType: 'CONSTANT' }

const rate = (limit: number, aggregate: typeof BY_SOURCE | typeof BY_FORWARDED, scope: Statement[]): Statement => {
  const [first, ...more] = scope
  return {
    rateBasedStatement: {
      limit,
      evaluationWindowSec: WINDOW_SECONDS,
      ...aggregate,
      ...(first === undefined ? {} : { scopeDownStatement: more.length === 0 ? first : both(...scope) }),
    },
  }
}

const managed = ({ group: name, countOnly }: { group: string; countOnly: readonly string[] }): Statement => ({
  managedRuleGroupStatement: {
    vendorName: 'AWS',
    name,
    ruleActionOverrides: countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
  },
})

const untransformed = [{ priority: 0, type: 'NONE' }]

// A limit for everybody together requires a statement of what it counts.
const isAny: Statement = {
  byteMatchStatement: {
    fieldToMatch: { uriPath: {} },
    positionalConstraint: 'STARTS_WITH',
    searchString: '/',
    textTransformations: untransformed,
  },
}

// AWS WAF accepts no capturing groups.
const hasOneAddress: Statement = {
  regexMatchStatement: {
    fieldToMatch: { singleHeader: { Name: 'x-forwarded-for' } },
    regexString: '^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$',
    textTransformations: untransformed,
  },
}

// A client can write a path in many ways: /v1/%61uth/login, /v1//auth/login, /v1/x/../auth/login.
const AS_ROUTED = [
  { priority: 0, type: 'URL_DECODE' },
  { priority: 1, type: 'NORMALIZE_PATH' },
]

/** Holds for the paths of the API that sign in, or take a password or a token. */
export const isApiSignIn: Statement = {
  byteMatchStatement: {
    fieldToMatch: { uriPath: {} },
    positionalConstraint: 'CONTAINS',
    searchString: '/v1/auth/',
    textTransformations: AS_ROUTED,
  },
}

/** Holds for any of these paths. */
export const isAnyOf = (paths: readonly string[]): Statement => ({
  regexMatchStatement: {
    fieldToMatch: { uriPath: {} },
    regexString: paths.map((path) => `^${path}$`).join('|'),
    textTransformations: AS_ROUTED,
  },
})

const isPost: Statement = {
  byteMatchStatement: {
    fieldToMatch: { method: {} },
    positionalConstraint: 'EXACTLY',
    searchString: 'POST',
    textTransformations: untransformed,
  },
}
