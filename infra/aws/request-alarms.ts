import { Duration } from 'aws-cdk-lib'
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch'
import { type AlarmDefinition, type AlarmDefinitions, HOUR, MINUTE, percentage } from './alarm-definition.ts'
import { MANAGED_RULES } from './firewall.ts'
import { type StageMetrics, sumOf, type Watched } from './metrics.ts'

// The objective is 99.9 % of requests without a 5xx in 30 days. An alarm goes off at a multiple of the rate that uses up the rest.
const ERROR_BUDGET_PERCENT = 0.1
const FAST_BURN = 14.4
const SLOW_BURN = 6

// An alarm has one threshold: as many wrong proofs of second factors count as every sign-in that failed.
const WRONG_PROOFS = 50

const REFUSED = Array.from({ length: 2 * MANAGED_RULES.length }, (_, index) => `FILL(r${index}, 0)`).join(' + ')
const REFUSED_FROM = 20

/** The alarms that only stop a release. They count single minutes, because a release waits five minutes for them. */
const releaseAlarms = ({ failed, requests, pages }: StageMetrics): AlarmDefinitions => ({
  'release-errors': {
    periods: [2, 5],
    missing: 'normal',
    metric: new MathExpression({
      label: '5xx, percent',
      expression:
        'IF(FILL(failed, 0) + FILL(pages, 0) > 0, 100 * (FILL(failed, 0) + FILL(pages, 0)) / (FILL(requests, 0) + FILL(opened, 0)), 0)',
      usingMetrics: { failed, pages: pages.serverErrors, requests, opened: pages.requests },
      period: MINUTE,
    }),
    over: 0.5,
    description: 'In 2 of 5 minutes more than 0.5 % of the requests and pages got a 5xx response.',
  },
})

/** The probe of a stage could not do what people do, or did not run. */
const unreachable = (metric: IMetric, what: string, behind: string): AlarmDefinition => ({
  metric,
  below: 1,
  periods: [3, 3],
  missing: 'failure',
  description: `For 3 minutes nobody could ${what} through the public address. DNS, certificate, firewall, gateway, ${behind} fail, or the probe itself.`,
})

/** The alarms of what the firewalls refuse. */
const firewallAlarms = (metrics: StageMetrics): AlarmDefinitions => ({
  'firewall-blocks': {
    metric: sumOf([metrics.blocked, metrics.pages.blocked], 'blocked'),
    over: 10_000,
    periods: [3, 3],
    missing: 'normal',
    description: 'For 15 minutes the firewall refused more than 10,000 requests in each 5 minutes.',
  },
  'customers-refused': {
    metric: new MathExpression({
      label: 'refused, percent',
      expression: `IF(${REFUSED} >= ${REFUSED_FROM}, 100 * (${REFUSED}) / (${REFUSED} + FILL(allowed, 0) + FILL(opened, 0)), 0)`,
      usingMetrics: {
        ...Object.fromEntries(
          [...metrics.refused, ...metrics.pages.refused].map((metric, index) => [`r${index}`, metric]),
        ),
        allowed: metrics.allowed,
        opened: metrics.pages.allowed,
      },
    }),
    over: 2,
    periods: [2, 3],
    missing: 'normal',
    description:
      'In 10 of 15 minutes the rules that AWS maintains refused more than 2 % of the requests, and at least 20 in each 5 minutes. A new version of a rule may refuse customers.',
  },
})

/** The alarms of what clients get: from the API, the pages, and the functions for other services. */
export function requestAlarms({ config }: Watched, metrics: StageMetrics): AlarmDefinitions {
  const { own } = metrics
  return {
    'api-errors': {
      metric: percentage(metrics.failed, metrics.requests, { from: 5, label: '5xx, percent', of: 'whole' }),
      over: FAST_BURN * ERROR_BUDGET_PERCENT,
      periods: [2, 2],
      missing: 'normal',
      description:
        'For 10 minutes more than 1.44 % of the requests, and at least 5 in each 5 minutes, got a 5xx response. /health/ready does not count. At this rate the errors that 99.9 % allows in a month are used up in 2 days.',
    },
    'api-errors-slow': {
      metric: percentage(metrics.failed.with({ period: HOUR }), metrics.requests.with({ period: HOUR }), {
        from: 5,
        label: '5xx, percent',
        of: 'whole',
      }),
      over: SLOW_BURN * ERROR_BUDGET_PERCENT,
      periods: [3, 6],
      missing: 'normal',
      description:
        'In 3 of the last 6 hours more than 0.6 % of the requests, and at least 5 an hour, got a 5xx response. /health/ready does not count. At this rate the errors that 99.9 % allows in a month are used up in 5 days.',
    },
    'api-latency': {
      metric: metrics.latency('p99'),
      over: 2000,
      periods: [3, 3],
      missing: 'normal',
      description: 'For 15 minutes 1 % of the requests took longer than 2 seconds.',
    },
    'page-errors': {
      metric: percentage(metrics.pages.serverErrors, metrics.pages.requests, {
        from: 5,
        label: '5xx, percent',
        of: 'whole',
      }),
      over: FAST_BURN * ERROR_BUDGET_PERCENT,
      periods: [2, 2],
      missing: 'normal',
      description: 'For 10 minutes more than 1.44 % of the pages, and at least 5 in each 5 minutes, were a 5xx.',
    },
    'page-latency': {
      metric: metrics.pages.latency('p99'),
      over: 4000,
      periods: [3, 3],
      missing: 'normal',
      description: 'For 15 minutes 1 % of the pages took longer than 4 seconds.',
    },
    ...(config.canary ? releaseAlarms(metrics) : {}),
    'functions-throttled': {
      metric: { sumOf: metrics.feltThrottles, label: 'throttled' },
      over: 0,
      periods: [3, 3],
      missing: 'normal',
      description:
        'Lambda refused to start more instances for 15 minutes, and clients got 5xx. The reserved concurrency of a function or the quota of the account is used up.',
    },
    'decisions-failing': {
      metric: metrics.failedDecisions,
      over: 5,
      periods: [3, 5],
      missing: 'normal',
      description:
        'In 3 of 5 minutes more than 5 invocations of authorize failed. Other services respond with 503 to those requests.',
    },
    'credentials-failing': {
      metric: metrics.failedOpenings,
      over: 5,
      periods: [3, 5],
      missing: 'normal',
      description:
        'In 3 of 5 minutes more than 5 invocations of open-credential failed. Other services get no vendor credential.',
    },
    'sign-in-unreachable': unreachable(own('ProbeSucceeded', { period: MINUTE }), 'sign in', 'functions or database'),
    ...(config.probesPages
      ? {
          'pages-unreachable': unreachable(
            own('PagesProbeSucceeded', { period: MINUTE }),
            'open a page',
            'front end or API',
          ),
        }
      : {}),
    ...(config.firewall ? firewallAlarms(metrics) : {}),
    ...(metrics.daysToExpiry.length === 0
      ? {}
      : {
          'certificate-expiring': {
            metric: new MathExpression({
              label: 'days',
              expression: `MIN([${metrics.daysToExpiry.map((_, index) => `c${index}`).join()}])`,
              usingMetrics: Object.fromEntries(metrics.daysToExpiry.map((metric, index) => [`c${index}`, metric])),
              period: Duration.days(1),
            }),
            below: 30,
            periods: [1, 1],
            missing: 'normal',
            description:
              'A certificate of a domain ends in less than 30 days. ACM renews it weeks before, so its validation record is missing.',
          } satisfies AlarmDefinition,
        }),
    'sign-in-failures': {
      metric: new MathExpression({
        label: 'failed, percent',
        expression: `IF(FILL(proofs, 0) >= ${WRONG_PROOFS}, 100, passwords)`,
        usingMetrics: {
          proofs: own('SecondFactorFailed'),
          passwords: percentage(own('SignInFailed'), own('SignInSucceeded'), {
            from: 100,
            label: 'wrong passwords, percent',
            of: 'sum',
          }),
        },
      }),
      over: 80,
      periods: [2, 2],
      missing: 'normal',
      description:
        'For 10 minutes more than 80 % of the sign-ins failed, and at least 100 in each 5 minutes, or at least 50 proofs of second factors were wrong in each. Either somebody guesses passwords or codes, or nobody can sign in.',
    },
    'tokens-refused': {
      metric: percentage(own('Unauthorized'), metrics.requests, { from: 500, label: '401, percent', of: 'whole' }),
      over: 50,
      periods: [2, 2],
      missing: 'normal',
      description: 'For 10 minutes more than half of the requests, and at least 500 in each 5 minutes, got a 401.',
    },
  }
}
