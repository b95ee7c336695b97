import { posix } from 'node:path'
import { BlockList, isIPv6 } from 'node:net'
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { describe, expect, it } from 'vitest'
import { Firewall, isAnyOf, isApiSignIn } from '#infra/aws/firewall.ts'
import { STAGES } from '#infra/stages.ts'

interface Sent {
  readonly from: string
  readonly method?: string
  readonly path?: string
  readonly forwardedFor?: string
}

const TRANSFORMATIONS: Readonly<Record<string, (text: string) => string>> = {
  NONE: (text) => text,
  URL_DECODE: decodeURIComponent,
  NORMALIZE_PATH: (path) => posix.normalize(path),
}

/** Returns the firewall's rules, and what each rate limit counts a request for: rule name → address. */
function firewall(trustedProxies: readonly string[], signIn = isApiSignIn, sampled = false) {
  const props = {
    name: 'tenantry-test',
    signIn,
    resourceArn: 'arn:aws:apigateway:us-east-1::/restapis/api/stages/api',
    config: STAGES.prod.firewall,
    sampled,
    trustedProxies,
  }
  const made = new Firewall(new Stack(new App(), 'test'), 'Firewall', props)
  const resources: [string, any][] = Object.entries(Template.fromStack(Stack.of(made)).toJSON()['Resources'])
  const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type)
  const sets = new Map(
    ofType('AWS::WAFv2::IPSet').map(([id, { Properties }]) => {
      const list = new BlockList()
      const family = Properties.IPAddressVersion === 'IPV6' ? 'ipv6' : 'ipv4'
      for (const block of Properties.Addresses) {
        const [address, prefix] = block.split('/')
        list.addSubnet(address, Number(prefix), family)
      }
      return [id, list]
    }),
  )
  const [[, { Properties: acl }] = ['', { Properties: { Rules: [] } }]] = ofType('AWS::WAFv2::WebACL')

  const holds = (statement: any, sent: Sent): boolean => {
    const [[kind, part] = ['', {}], second] = Object.entries<any>(statement)
    if (second !== undefined) throw new Error(JSON.stringify(statement))
    const text = () => {
      const { UriPath, Method, SingleHeader } = part.FieldToMatch
      const field = UriPath ? sent.path : Method ? sent.method : SingleHeader.Name && sent.forwardedFor
      const transformations: any[] = part.TextTransformations.toSorted((a: any, b: any) => a.Priority - b.Priority)
      return field === undefined
        ? null
        : transformations.reduce((value, { Type }) => TRANSFORMATIONS[Type]?.(value) ?? '', field)
    }
    switch (kind) {
      case 'AndStatement':
        return part.Statements.every((each: unknown) => holds(each, sent))
      case 'OrStatement':
        return part.Statements.some((each: unknown) => holds(each, sent))
      case 'NotStatement':
        return !holds(part.Statement, sent)
      case 'IPSetReferenceStatement':
        return sets.get(part.Arn['Fn::GetAtt'][0])?.check(sent.from, isIPv6(sent.from) ? 'ipv6' : 'ipv4') ?? false
      case 'RegexMatchStatement':
        return new RegExp(part.RegexString).test(text() ?? '')
      case 'ByteMatchStatement':
        return {
          CONTAINS: (all: string) => all.includes(part.SearchString),
          EXACTLY: (all: string) => all === part.SearchString,
          STARTS_WITH: (all: string) => all.startsWith(part.SearchString),
        }[part.PositionalConstraint as 'CONTAINS'](text() ?? '')
      default:
        throw new Error(`the tests do not know ${kind}`)
    }
  }

  const counted = (sent: Sent): Record<string, string | undefined> =>
    Object.fromEntries(
      acl.Rules.flatMap(({ Name, Statement: { RateBasedStatement: rate } }: any) => {
        if (rate === undefined || !holds(rate.ScopeDownStatement ?? { AndStatement: { Statements: [] } }, sent))
          return []
        // AWS WAF takes the first address of the list.
        const keys: any = { IP: sent.from, FORWARDED_IP: sent.forwardedFor?.split(',', 1)[0], CONSTANT: 'everybody' }
        return [[Name, keys[rate.AggregateKeyType]]]
      }),
    )
  return { rules: acl.Rules, counted }
}

const SIGN_IN = { method: 'POST', path: '/v1/auth/login' }

describe('the firewall', () => {
  const trusting = firewall(['203.0.113.0/24', '2001:db8::/32'])
  const trustingNobody = firewall([])
  const { rules, counted } = trusting

  it('keeps samples of requests, which have addresses of people, only while somebody asks for them', () => {
    const sampled = (given: typeof trusting) =>
      new Set(given.rules.map(({ VisibilityConfig }: any) => VisibilityConfig.SampledRequestsEnabled))
    expect([sampled(trustingNobody), sampled(firewall([], isApiSignIn, true))]).toEqual([
      new Set([false]),
      new Set([true]),
    ])
  })

  it('counts a request of a trusted proxy for the one address that it forwards', () => {
    for (const from of ['203.0.113.5', '2001:db8::5'])
      for (const forwardedFor of ['192.0.2.1', '2001:db8:1::1', '::ffff:192.0.2.1']) {
        const only = { 'by-forwarded-address': forwardedFor, together: 'everybody' }
        expect(counted({ from, method: 'GET', path: '/v1/members', forwardedFor })).toEqual(only)
        const both = { ...only, 'sign-in-by-forwarded-address': forwardedFor }
        expect(counted({ from, ...SIGN_IN, forwardedFor })).toEqual(both)
      }
  })

  it.each([
    ['an address that is no proxy', '198.51.100.7', '192.0.2.1'],
    ['a proxy that forwards nothing', '203.0.113.5', undefined],
    ['a proxy that forwards a list, which its client may have begun', '203.0.113.5', '192.0.2.1, 192.0.2.2'],
    ['a proxy that forwards text', '203.0.113.5', 'unknown'],
    ['a proxy that forwards nothing but space', '203.0.113.5', ' '],
  ])('counts a request of %s for where it comes from', (_, from, forwardedFor) => {
    const sent = forwardedFor === undefined ? { from, ...SIGN_IN } : { from, ...SIGN_IN, forwardedFor }
    for (const { counted } of [trusting, trustingNobody])
      expect(counted(sent)).toEqual({ 'by-address': from, 'sign-in-by-address': from, together: 'everybody' })
  })

  it.each(['/v1/auth/login', '/v1/%61uth/login', '/v1/x/../auth/login', '/v1//auth/./login', '/v1/auth%2Flogin'])(
    'counts a sign-in however its path is written: %s',
    (path) => {
      expect(Object.keys(counted({ from: '192.0.2.1', method: 'POST', path }))).toContain('sign-in-by-address')
    },
  )

  it.each(['/sign-in', '/%73ign-in', '//sign-in', '/x/../sign-in', '/invitation'])(
    'counts a form of the front end that needs no session, however its path is written: %s',
    (path) => {
      const { counted } = firewall([], isAnyOf(['/sign-in', '/invitation']))
      const named = (method: string, path: string) => Object.keys(counted({ from: '192.0.2.1', method, path }))
      expect(named('POST', path)).toContain('sign-in-by-address')
      expect(named('GET', path)).not.toContain('sign-in-by-address')
      expect(named('POST', `${path}s`)).not.toContain('sign-in-by-address')
    },
  )

  it('refuses above its limits, and does not refuse for what a body contains', () => {
    const limits = rules.filter(({ Statement }: any) => Statement.RateBasedStatement !== undefined)
    const { perAddress, signInPerAddress, together } = STAGES.prod.firewall
    expect(limits.map(({ Statement, Action }: any) => [Statement.RateBasedStatement.Limit, Action])).toEqual(
      [perAddress, perAddress, signInPerAddress, signInPerAddress, together].map((limit) => [limit, { Block: {} }]),
    )
    const groups = rules.map(({ Statement }: any) => Statement.ManagedRuleGroupStatement)
    const only = (group: string) =>
      groups.find((each: any) => each?.Name === group).RuleActionOverrides.map((each: any) => each.Name)
    for (const name of ['SizeRestrictions_BODY', 'CrossSiteScripting_BODY', 'GenericRFI_BODY', 'GenericLFI_BODY'])
      expect(only('AWSManagedRulesCommonRuleSet')).toContain(name)
    for (const name of ['JavaDeserializationRCE_BODY', 'Log4JRCE_BODY', 'ReactJSRCE_BODY'])
      expect(only('AWSManagedRulesKnownBadInputsRuleSet')).toContain(name)
  })
})
