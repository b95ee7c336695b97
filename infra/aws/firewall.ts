import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'
import type { Stage } from '#infra/stages.ts'

const WINDOW_SECONDS = 300

// These managed rules only count. Those on bodies and their size would refuse valid passwords and secrets, which the
// functions check themselves. Clients may omit the user agent.
const COUNT_ONLY = [
  'SizeRestrictions_BODY',
  'CrossSiteScripting_BODY',
  'EC2MetaDataSSRF_BODY',
  'GenericLFI_BODY',
  'GenericRFI_BODY',
  'NoUserAgent_HEADER',
]

/**
 * The firewall in front of the API. It refuses floods from one IP address, and known bad addresses and requests, with the
 * gateway's 403. Its limits are far above the API's documented rate limits. It keeps no log, because that would contain IP
 * addresses.
 */
export class Firewall extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { stage, resourceArn, config }: { stage: string; resourceArn: string; config: Stage['firewall'] },
  ) {
    super(scope, id)
    const visible = (name: string) => ({
      sampledRequestsEnabled: false,
      cloudWatchMetricsEnabled: true,
      metricName: `tenantry-${stage}-${name}`,
    })
    const rate = (limit: number, scopeDownStatement?: CfnWebACL.StatementProperty) => ({
      rateBasedStatement: {
        limit,
        evaluationWindowSec: WINDOW_SECONDS,
        aggregateKeyType: 'IP',
        ...(scopeDownStatement === undefined ? {} : { scopeDownStatement }),
      },
    })
    const managed = (name: string, countOnly: readonly string[] = []) => ({
      managedRuleGroupStatement: {
        vendorName: 'AWS',
        name,
        ruleActionOverrides: countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
      },
    })
    const signIn: CfnWebACL.StatementProperty = {
      byteMatchStatement: {
        fieldToMatch: { uriPath: {} },
        positionalConstraint: 'CONTAINS',
        searchString: '/v1/auth/',
        textTransformations: [{ priority: 0, type: 'NONE' }],
      },
    }
    const rule = (name: string, statement: CfnWebACL.StatementProperty): CfnWebACL.RuleProperty => ({
      name,
      priority: 0,
      statement,
      visibilityConfig: visible(name),
      // A rate limit blocks. A managed group keeps the action of each of its rules.
      ...(statement.rateBasedStatement === undefined ? { overrideAction: { none: {} } } : { action: { block: {} } }),
    })
    const rules = [
      rule('by-address', rate(config.perAddress)),
      rule('sign-in-by-address', rate(config.signInPerAddress, { andStatement: { statements: [signIn, isPost] } })),
      rule('bad-addresses', managed('AWSManagedRulesAmazonIpReputationList')),
      rule('bad-requests', managed('AWSManagedRulesKnownBadInputsRuleSet')),
      rule('common', managed('AWSManagedRulesCommonRuleSet', COUNT_ONLY)),
    ]
    const acl = new CfnWebACL(this, 'Acl', {
      name: `tenantry-${stage}`,
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visible('firewall'),
      rules: rules.map((each, priority) => Object.assign(each, { priority })),
    })
    new CfnWebACLAssociation(this, 'Association', { resourceArn, webAclArn: acl.attrArn })
  }
}

const isPost: CfnWebACL.StatementProperty = {
  byteMatchStatement: {
    fieldToMatch: { method: {} },
    positionalConstraint: 'EXACTLY',
    searchString: 'POST',
    textTransformations: [{ priority: 0, type: 'NONE' }],
  },
}
