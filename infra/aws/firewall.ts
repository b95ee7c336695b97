import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'
import type { Stage } from '#infra/stages.ts'

const WINDOW_SECONDS = 300

// Rules of the common group that look into bodies, or at their size, would refuse passwords and secrets that hold anything
// they please, with a 403 in place of the answer that is owed; the functions check both. A client needs no user agent.
const COUNTED = [
  'SizeRestrictions_BODY',
  'CrossSiteScripting_BODY',
  'EC2MetaDataSSRF_BODY',
  'GenericLFI_BODY',
  'GenericRFI_BODY',
  'NoUserAgent_HEADER',
]

/**
 * The firewall before the API: floods by address, known bad addresses and requests. Its limits are no part of the contract
 * but far above it; whom it refuses gets the gateway's 403. It keeps no log of its own, since that would hold addresses.
 */
export class Firewall extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { stage, resourceArn, numbers }: { stage: string; resourceArn: string; numbers: Stage['firewall'] },
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
    const managed = (name: string, counted: readonly string[] = []) => ({
      managedRuleGroupStatement: {
        vendorName: 'AWS',
        name,
        ruleActionOverrides: counted.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
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
      // A rule blocks; a group of rules does what each of its rules says.
      ...(statement.rateBasedStatement === undefined ? { overrideAction: { none: {} } } : { action: { block: {} } }),
    })
    const rules = [
      rule('by-address', rate(numbers.perAddress)),
      rule('sign-in-by-address', rate(numbers.signInPerAddress, { andStatement: { statements: [signIn, isPost] } })),
      rule('bad-addresses', managed('AWSManagedRulesAmazonIpReputationList')),
      rule('bad-requests', managed('AWSManagedRulesKnownBadInputsRuleSet')),
      rule('common', managed('AWSManagedRulesCommonRuleSet', COUNTED)),
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
