import { type Load, REQUEST } from './loads.ts'
import { cost } from './prices.ts'

const HOURS = 730
const SECONDS = HOURS * 3600
const MILLION = 1_000_000
const GB_PER_KB = 1 / 1024 ** 2
// What a worker's run takes, most of it a wait for the database. Assumed.
const RUN_SECONDS = 0.1
const TRACED = 0.05
const LOG_STORED = 0.1

/** A resource of a template, with the properties that the bill depends on. */
export interface Resource {
  readonly Type: string
  readonly Properties?: {
    readonly ServerlessV2ScalingConfiguration?: { readonly MinCapacity: number }
    readonly Rules?: readonly unknown[]
    readonly RetentionInDays?: number
    readonly Metrics?: readonly { readonly MetricStat?: unknown }[]
    readonly FunctionName?: string
    readonly MemorySize?: number
    readonly TracingConfig?: { readonly Mode: string }
    readonly ScheduleExpression?: string
  }
}

/** A line of a bill, in USD a month. */
export interface Line {
  readonly name: string
  readonly usd: number
}

/** Returns the bill of a month for a stage's template under a load. */
export function bill(resources: readonly Resource[], load: Load): Line[] {
  const of = (type: string) => propertiesOf(resources, type)
  const count = (type: string): number => of(type).length
  const requests = load.requestsPerSecond * SECONDS
  const millions = requests / MILLION
  const gb = (kb: number): number => requests * kb * GB_PER_KB

  const minCapacity = of('AWS::RDS::DBCluster')[0]?.ServerlessV2ScalingConfiguration?.MinCapacity ?? 0
  const acus = count('AWS::RDS::DBInstance') * Math.max(minCapacity, load.requestsPerSecond * REQUEST.acu)
  const writes = (load.writesPerSecond * SECONDS) / MILLION

  const [gateways, addresses, instances] = ['AWS::EC2::NatGateway', 'AWS::EC2::EIP', 'AWS::EC2::Instance'].map(count)
  const natGb = gb(REQUEST.natKb)

  const rules = of('AWS::WAFv2::WebACL').map(({ Rules = [] }) => Rules.length)
  const lambda = lambdaUse(resources, load, requests)
  const logGb = gb(REQUEST.logKb)
  const retention = Math.max(...of('AWS::Logs::LogGroup').map(({ RetentionInDays = 0 }) => RetentionInDays)) / 30

  const alarmMetrics = of('AWS::CloudWatch::Alarm')
    .map(({ Metrics = [] }) => Math.max(1, Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length))
    .reduce((sum, each) => sum + each, 0)

  return [
    { name: 'database, capacity', usd: cost('acu', acus * HOURS) },
    {
      name: 'database, storage, I/O and backups',
      usd: cost('storage', load.storedGb) + cost('io', writes * REQUEST.ioPerWrite) + cost('backup', load.storedGb),
    },
    {
      name: 'NAT and public addresses',
      usd:
        cost('natGateway', (gateways ?? 0) * HOURS) +
        cost('address', ((addresses ?? 0) + (instances ?? 0)) * HOURS) +
        cost('natInstance', (instances ?? 0) * HOURS) +
        cost('disk', 8 * (instances ?? 0)) +
        (gateways === 0 ? 0 : cost('natData', natGb)),
    },
    { name: 'API Gateway', usd: cost('gateway', millions) },
    {
      name: 'firewalls',
      usd:
        cost('firewall', rules.length) +
        cost(
          'firewallRule',
          rules.reduce((sum, each) => sum + each, 0),
        ) +
        (rules.length === 0 ? 0 : cost('firewallRequests', millions)),
    },
    { name: 'Lambda', usd: cost('invocations', lambda.invocations / MILLION) + cost('compute', lambda.gbSeconds) },
    {
      name: 'X-Ray',
      usd: cost(
        'xray',
        lambda.traced ? (lambda.invocations * TRACED + Math.min(lambda.invocations, SECONDS)) / MILLION : 0,
      ),
    },
    { name: 'logs', usd: cost('logs', logGb) + cost('logStorage', logGb * LOG_STORED * retention) },
    {
      name: 'alarms, metrics, dashboard',
      usd:
        cost('alarmMetric', alarmMetrics) +
        cost('metric', load.metrics) +
        cost('dashboard', count('AWS::CloudWatch::Dashboard')),
    },
    {
      name: 'keys and secrets',
      usd: cost('key', count('AWS::KMS::Key')) + cost('secret', count('AWS::SecretsManager::Secret')),
    },
    { name: 'mail and events', usd: cost('mail', load.mailsPerMonth / 1000) + cost('event', writes) },
    { name: 'data out', usd: cost('dataOut', gb(REQUEST.answerKb)) },
  ]
}

const propertiesOf = (resources: readonly Resource[], type: string) =>
  resources.filter(({ Type }) => Type === type).map(({ Properties = {} }) => Properties)

/** Returns the invocations of a month and their GB-seconds, and whether X-Ray traces them. */
function lambdaUse(resources: readonly Resource[], load: Load, requests: number) {
  const functions = propertiesOf(resources, 'AWS::Lambda::Function')
  const memoryGb = (name: string): number =>
    (functions.find(({ FunctionName }) => FunctionName === `tenantry-${load.stage}-${name}`)?.MemorySize ?? 0) / 1024
  const pages = requests * REQUEST.pages
  const calls = requests - pages + pages * REQUEST.callsOfAPage
  const runs = propertiesOf(resources, 'AWS::Scheduler::Schedule')
    .map(({ ScheduleExpression = '' }) => SECONDS / rateSeconds(ScheduleExpression))
    .reduce((sum, each) => sum + each, 0)
  const checks = calls * REQUEST.sessionChecks
  return {
    invocations: pages + calls + runs,
    gbSeconds:
      pages * REQUEST.pageSeconds * memoryGb('web') +
      (checks * REQUEST.callSeconds + calls * REQUEST.signIns * REQUEST.signInSeconds) * memoryGb('auth') +
      (calls - checks) * REQUEST.callSeconds * memoryGb('members') +
      runs * RUN_SECONDS * memoryGb('measure'),
    traced: functions.some(({ TracingConfig }) => TracingConfig?.Mode === 'Active'),
  }
}

/** Returns the seconds of a schedule such as `rate(1 minute)`. */
function rateSeconds(expression: string): number {
  const [, amount, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? []
  const seconds = { minute: 60, hour: 3600, day: 86_400 }[unit]
  if (seconds === undefined) throw new Error(`no rate: ${expression}`)
  return Number(amount) * seconds
}

export const total = (lines: readonly Line[]): number => lines.reduce((sum, { usd }) => sum + usd, 0)
