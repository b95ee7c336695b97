import { readFileSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { QUERY_NAMES } from '#functions/workers/operate/named-queries.ts'
import { alarmEntries } from '#infra/aws/alarm-table.ts'
import { EXERCISES, FIND, printed } from '#infra/tools/game-day/exercises.ts'
import { OTHER_MESSAGES } from '#infra/tools/runbook.ts'
import { METRICS, type MetricName } from '#shared/base/metrics.ts'
import { JOB_KINDS } from '#shared/queue/kinds.ts'
import { listed, type Synthesized, synthesized } from './synthesized.ts'

const OUR_NAMESPACE = 'Tenantry'
const MAX_METRICS_PER_ALARM = 10

/** The metrics of AWS in use, by namespace, as AWS documents them. */
const AWS_METRICS: Readonly<Record<string, readonly string[]>> = {
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
  'AWS/ApiGateway': ['4XXError', '5XXError', 'Count', 'Latency'],
  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
  // https://docs.aws.amazon.com/aws-backup/latest/devguide/cloudwatch.html
  'AWS/Backup': [
    'NumberOfBackupJobsCompleted',
    'NumberOfBackupJobsFailed',
    'NumberOfCopyJobsCompleted',
    'NumberOfCopyJobsFailed',
  ],
  // https://docs.aws.amazon.com/acm/latest/userguide/cloudwatch-metrics.html
  'AWS/CertificateManager': ['DaysToExpiry'],
  'AWS/Lambda': ['ConcurrentExecutions', 'DeadLetterErrors', 'Duration', 'Errors', 'Invocations', 'Throttles'],
  // https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.AuroraMonitoring.Metrics.html, and of RDS Proxy
  // https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/rds-proxy.monitoring.html
  'AWS/RDS': [
    'ACUUtilization',
    'AuroraReplicaLagMaximum',
    'CPUUtilization',
    'DatabaseConnections',
    'DatabaseConnectionsCurrentlyBorrowed',
    'DatabaseConnectionsCurrentlySessionPinned',
    'Deadlocks',
    'FreeLocalStorage',
    'MaximumUsedTransactionIDs',
    'ServerlessDatabaseCapacity',
  ],
  // https://docs.aws.amazon.com/scheduler/latest/UserGuide/monitoring-cloudwatch.html
  'AWS/Scheduler': ['InvocationsFailedToBeSentToDeadLetterCount'],
  // https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html
  'AWS/SES': ['Reputation.BounceRate', 'Reputation.ComplaintRate'],
  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
  'AWS/SQS': ['ApproximateNumberOfMessagesVisible'],
  // https://docs.aws.amazon.com/waf/latest/developerguide/waf-metrics.html
  'AWS/WAFV2': ['AllowedRequests', 'BlockedRequests'],
}

let prod: Synthesized
// A stage with a proxy and the front end's domain, without readers, with an alarm email.
let other: Synthesized
beforeAll(async () => {
  prod = await synthesized('prod')
  other = await synthesized('dev', {
    database: { proxy: true },
    addresses: {
      alarmEmail: 'night@shop.test',
      recovery: { region: 'us-west-2', backupVaults: ['arn:aws:backup:us-west-2:111122223333:backup-vault:copies'] },
      webDomain: { name: 'app.shop.test', certificateArn: 'arn:aws:acm:us-east-1:1:certificate/one' },
    },
  })
  // Two stages are synthesized.
}, 600_000)

const alarms = (stage: Synthesized) => stage.ofType('AWS::CloudWatch::Alarm').map(({ Properties }) => Properties)
const shortName = ({ AlarmName }: { AlarmName: string }) => AlarmName.replace(/^tenantry-[a-z]+-|-\d+$/g, '')

interface Used {
  readonly namespace: string
  readonly name: string
  readonly dimensions: readonly string[]
}

/** The metrics that the alarms read. */
const alarmMetrics = (stage: Synthesized): Used[] =>
  alarms(stage).flatMap(({ Metrics, Namespace, MetricName, Dimensions }) =>
    (Metrics ?? [{ MetricStat: { Metric: { Namespace, MetricName, Dimensions } } }])
      .filter(({ MetricStat }: any) => MetricStat !== undefined)
      .map(({ MetricStat: { Metric } }: any) => ({
        namespace: Metric.Namespace,
        name: Metric.MetricName,
        dimensions: (Metric.Dimensions ?? []).map(({ Name }: any) => Name),
      })),
  )

/** The metrics that the dashboard shows, by name or by a search. */
function dashboardMetrics(stage: Synthesized): Used[] {
  const { DashboardBody } = stage.one('AWS::CloudWatch::Dashboard').Properties
  const text = DashboardBody['Fn::Join'][1].map((part: unknown) => (typeof part === 'string' ? part : 'x')).join('')
  const { widgets } = JSON.parse(text)
  const found = widgets.flatMap(({ properties }: any) => properties.metrics ?? [])
  return found.flatMap((metric: any[]): Used[] => {
    const [first] = metric
    if (typeof first === 'string') {
      const [namespace = '', name = '', ...rest] = metric.filter((part) => typeof part === 'string')
      return [{ namespace, name, dimensions: rest.filter((_, index) => index % 2 === 0) }]
    }
    const search =
      /^SEARCH\('\{(\w+),([\w,]+)\} MetricName="(\w+)" service="tenantry" stage="\w+"', '\w+', 300\)$/.exec(
        first.expression,
      )
    if (search === null) {
      expect(first.expression).not.toContain('SEARCH')
      return []
    }
    const [, namespace = '', dimensions = '', name = ''] = search
    return [{ namespace, name, dimensions: dimensions.split(',') }]
  })
}

async function sources(pattern: string): Promise<string[]> {
  const texts: string[] = []
  for await (const file of glob(pattern)) texts.push(await readFile(file, 'utf8'))
  return texts
}

describe('an alarm', () => {
  it('publishes to the encrypted topic of its severity when it goes off and when it recovers, unless it only stops releases', () => {
    const severity = new Map<string, string>(alarmEntries().map(({ name, entry }) => [name, entry.severity]))
    const topics: Readonly<Record<string, string>> = {
      wake: 'OperationsAlarmsTopic',
      morning: 'OperationsAlarmsMorning',
    }
    for (const stage of [prod, other]) {
      expect(alarms(stage).length).toBeGreaterThan(20)
      const silent = alarms(stage).filter(({ AlarmActions }) => AlarmActions === undefined)
      expect([...new Set(silent.map(shortName))]).toEqual(stage === prod ? ['release-errors'] : [])
      for (const alarm of alarms(stage).filter((each) => !silent.includes(each))) {
        const [topic, another] = [alarm.AlarmActions, alarm.OKActions]
          .flatMap(listed)
          .map((each) => stage.referred(each))
        expect([topic?.Type, another], alarm.AlarmName).toEqual(['AWS::SNS::Topic', topic])
        expect(stage.named(alarm.AlarmActions[0]), alarm.AlarmName).toBe(topics[severity.get(shortName(alarm)) ?? ''])
        expect(stage.named(topic?.Properties.KmsMasterKeyId)).toBe('KeysService')
        expect(alarm.ActionsEnabled).toBeUndefined()
        expect(alarm.AlarmName).toMatch(/^tenantry-(prod|dev)-[a-z0-9-]+$/)
      }
    }
  })

  it('may publish to that topic and use its key, which only alarms of the same stage may', () => {
    const policies = [
      ...['OperationsAlarmsTopic', 'OperationsAlarmsMorning'].flatMap(
        (topic) => prod.one('AWS::SNS::TopicPolicy', topic).Properties.PolicyDocument.Statement,
      ),
      ...prod.one('AWS::KMS::Key', 'KeysService').Properties.KeyPolicy.Statement,
    ]
    const allowed = policies.filter(({ Principal }: any) => Principal.Service === 'cloudwatch.amazonaws.com')
    expect(allowed.map(({ Action }: any) => Action)).toEqual([
      'sns:Publish',
      'sns:Publish',
      ['kms:Decrypt', 'kms:GenerateDataKey*'],
    ])
    for (const { Effect, Condition } of allowed) {
      expect(Effect).toBe('Allow')
      expect(prod.named(Condition.ArnLike['aws:SourceArn'])).toBe('arn::cloudwatch:::alarm:tenantry-prod-*')
    }
  })

  it('is mailed to the stage’s alarmEmail, and to nobody else', () => {
    const subscribed = other.ofType('AWS::SNS::Subscription').map(({ Properties }) => Properties)
    for (const topic of ['OperationsAlarmsTopic', 'OperationsAlarmsMorning'])
      expect(subscribed.filter(({ TopicArn }) => other.named(TopicArn) === topic)).toEqual([
        expect.objectContaining({ Protocol: 'email', Endpoint: 'night@shop.test' }),
      ])
  })

  it('is not needed for a call that takes the vault key away: a rule wakes somebody', () => {
    const { EventPattern, Targets } = prod.one('AWS::Events::Rule', 'OperationsAlarmsVaultKeyChanged').Properties
    expect(EventPattern.detail.eventName).toEqual(['DisableKey', 'ScheduleKeyDeletion'])
    expect(EventPattern.detail.requestParameters.keyId.map((each: unknown) => prod.named(each))).toEqual([
      'KeysVault',
      'KeysVault',
    ])
    expect(prod.named(Targets[0].Arn)).toBe('OperationsAlarmsTopic')
    const { Statement } = prod.one('AWS::SNS::TopicPolicy', 'OperationsAlarmsTopic').Properties.PolicyDocument
    expect(JSON.stringify(Statement)).toContain('events.amazonaws.com')
  })

  it('sees what any rule on the bus of the stage gave up on, by a query that CloudWatch takes alone', () => {
    for (const stage of [prod, other]) {
      const { Metrics } = alarms(stage).find((each) => shortName(each) === 'events-undelivered')
      expect(Metrics).toHaveLength(1)
      const [before, bus, after] = Metrics[0].Expression['Fn::Join'][1]
      expect(before).toBe(`SELECT SUM(FailedInvocations) FROM "AWS/Events" WHERE EventBusName = '`)
      expect([stage.referred(bus).Type, after]).toEqual(['AWS::Events::EventBus', "'"])
    }
  })

  it('for throttles leaves out the functions that scanners reach', () => {
    const throttled = JSON.stringify(alarms(prod).filter((each) => shortName(each) === 'functions-throttled'))
    expect(throttled).toContain('authFunction')
    expect(throttled).not.toMatch(/notfoundFunction|openapiFunction/)
  })

  it('has a runbook entry under its name, and every entry has an alarm', () => {
    const entries = [...new Set(alarmEntries().map(({ entry }) => entry.page))].flatMap((page) =>
      readFileSync(`infra/runbook/${page}.md`, 'utf8').split(/^## /m).slice(1),
    )
    const all = [...alarms(prod), ...alarms(other)]
    const { Budget } = other.one('AWS::Budgets::Budget').Properties
    expect(Budget).toMatchObject({ BudgetLimit: { Amount: 200, Unit: 'USD' } })
    expect(new Set(entries.map((entry) => entry.split('\n', 1)[0]))).toEqual(
      new Set([...all.map(shortName), ...OTHER_MESSAGES.map(({ name }) => name)]),
    )
    for (const entry of entries)
      expect(entry, entry.slice(0, 40)).toMatch(/\*\*Means\*\*[\s\S]+\*\*Look\*\*[\s\S]+\*\*Repair\*\*/)
    const pageOf = new Map<string, string>(alarmEntries().map(({ name, entry }) => [name, entry.page]))
    for (const alarm of all) {
      const name = shortName(alarm)
      expect(alarm.AlarmDescription).toContain(`See ${name} in infra/runbook/${pageOf.get(name)}.md`)
    }
  })

  it('begins with a log, a saved query or a statement that exists', () => {
    const logs = prod.ofType('AWS::Logs::LogGroup').map(({ Properties }) => Properties.LogGroupName)
    const queries = prod.ofType('AWS::Logs::QueryDefinition').map(({ Properties }) => Properties.Name)
    for (const { name, entry } of alarmEntries()) {
      const { first } = entry
      const [, log] = /logs tail (\S+)/.exec(first) ?? []
      const [, query] = /^Logs Insights: (\S+)$/.exec(first) ?? []
      const [, statement] = /operate -- sql (\S+)/.exec(first) ?? []
      if (log !== undefined) expect(logs, name).toContain(log.replace('STAGE', 'prod'))
      if (query !== undefined) expect(queries, name).toContain(query.replace('STAGE', 'prod'))
      if (statement !== undefined) expect(QUERY_NAMES, name).toContain(statement)
    }
  })

  it('is diagnosed in the runbook by log messages that the functions really write', async () => {
    const code = (await sources('{functions,shared}/**/*.ts')).join('\n')
    const runbook = (await sources('infra/runbook/*.md')).join('\n').replaceAll(/\s+/g, ' ')
    const quoted = [...runbook.matchAll(/`"([^`]+)"`/g)].map(([, message = '']) => message)
    expect(quoted.length).toBeGreaterThan(2)
    for (const message of quoted) expect(code.includes(`'${message}'`), message).toBe(true)
  })

  it('defines what missing data means, and reads no more metrics than CloudWatch allows', () => {
    const failing = alarms(prod).filter(({ TreatMissingData }) => TreatMissingData === 'breaching')
    expect(failing.map(shortName).toSorted()).toEqual([
      'database-at-capacity',
      'database-connections',
      'maintenance-missed',
      'queue-late',
      'sign-in-unreachable',
    ])
    for (const alarm of [...alarms(prod), ...alarms(other)]) {
      expect(alarm.TreatMissingData).toMatch(/^(breaching|notBreaching)$/)
      expect((alarm.Metrics ?? []).length).toBeLessThanOrEqual(MAX_METRICS_PER_ALARM + 1)
    }
  })

  it('watches the pages only when the stage has a domain for them', () => {
    expect([prod, other].map((stage) => alarms(stage).map(shortName).includes('pages-unreachable'))).toEqual([
      false,
      true,
    ])
  })

  it('watches readers and the proxy only when the stage has them, and every password rotation', () => {
    const [names, others] = [prod, other].map((stage) => alarms(stage).map(shortName))
    expect([names?.includes('database-replica-lag'), names?.includes('proxy-pinned')]).toEqual([true, false])
    expect([others?.includes('database-replica-lag'), others?.includes('proxy-pinned')]).toEqual([false, true])
    const rotation = alarms(prod).find((alarm) => shortName(alarm) === 'rotation-failed')
    for (const { Properties } of prod.ofType('AWS::SecretsManager::RotationSchedule'))
      expect(prod.referred(rotation.Dimensions[0].Value)).toBe(prod.referred(Properties.RotationLambdaARN))
  })
})

describe('infra/README.md', () => {
  const readme = readFileSync('infra/README.md', 'utf8')
  /** The numbers that begin the cells of a table's row. */
  const figures = (row: string) =>
    (new RegExp(`^\\| \\**${row}[^|]*\\|(.+)\\|$`, 'm').exec(readme)?.[1] ?? '')
      .split('|')
      .map((cell) => Number(/\d+/.exec(cell)?.[0]))
  const stages = () =>
    Promise.all((['dev', 'prod'] as const).map(async (name) => [name, await synthesized(name)] as const))

  it('has the size of each stack', async () => {
    for (const [index, [, stage]] of (await stages()).entries())
      expect(figures('resources')[index] ?? NaN).toBeCloseTo(stage.resources.size, -2)
  })
})

describe('an exercise of the game day', () => {
  it('names only resources, functions and alarms that the stage has', () => {
    const text = printed(EXERCISES, 'prod')
    expect(text).not.toContain('STAGE')
    const resources = [...text.matchAll(/\$\(id (\S+) (\w+)\)/g)]
    expect(resources.length).toBeGreaterThan(10)
    for (const [, type = '', prefix = ''] of resources)
      expect(
        [...prod.resources].filter(([id, { Type }]) => Type === type && id.startsWith(prefix)),
        `${type} ${prefix}`,
      ).toHaveLength(1)
    const functions = prod.ofType('AWS::Lambda::Function').map(({ Properties }) => Properties.FunctionName)
    for (const [, name] of text.matchAll(/--function-name (\S+)/g)) expect(functions).toContain(name)
    const names = alarms(prod).map(({ AlarmName }) => AlarmName)
    for (const [, name] of text.matchAll(/--alarm-names (\S+)/g)) expect(names).toContain(name)
  })

  it('finds a resource by the command of the first day, which reads all pages of the list at once', () => {
    expect(readFileSync('infra/first-deployment.md', 'utf8').replaceAll(/\n {4}/g, '\n')).toContain(FIND)
    expect(FIND).toContain('--output json')
  })

  it('is described in the runbook', () => {
    const runbook = readFileSync('infra/runbook/recovery.md', 'utf8')
    for (const { name } of EXERCISES) expect(runbook).toContain(`\`${name}\``)
  })
})

describe('a metric', () => {
  it('read by an alarm or the dashboard is written by our functions or documented by AWS', () => {
    for (const stage of [prod, other]) {
      const used = [...alarmMetrics(stage), ...dashboardMetrics(stage)]
      expect(used.length).toBeGreaterThan(80)
      for (const { namespace, name, dimensions } of used) {
        if (namespace !== OUR_NAMESPACE) {
          expect(AWS_METRICS[namespace], `${namespace} ${name}`).toContain(name)
          continue
        }
        expect(Object.keys(METRICS), name).toContain(name)
        expect(dimensions).toEqual(expect.arrayContaining(['service', 'stage']))
        const [by, ...more] = dimensions.filter((each) => !['service', 'stage'].includes(each))
        expect(more).toEqual([])
        expect([undefined, METRICS[name as MetricName].by]).toContain(by)
      }
    }
  })

  it('is stored only with dimensions that an alarm or the dashboard reads', () => {
    const read = new Set(
      [...alarmMetrics(prod), ...dashboardMetrics(prod)].map(({ name, dimensions }) => [name, ...dimensions].join(' ')),
    )
    for (const [name, metric] of Object.entries(METRICS)) {
      const { by } = metric
      if (by === null || 'total' in metric) expect([...read]).toContain(`${name} service stage`)
      if (by !== null) expect([...read]).toContain(`${name} service stage ${by}`)
    }
    // API Gateway's free metrics are those of the stage. Those of a method are paid for.
    for (const { Properties } of prod.ofType('AWS::ApiGateway::Stage'))
      for (const { MetricsEnabled } of Properties.MethodSettings) expect(MetricsEnabled).toBe(false)
  })

  it('of our namespace is written by a function and shown on the dashboard', async () => {
    const shown = new Set(dashboardMetrics(prod).map(({ name }) => name))
    const files = await sources('{functions,shared}/**/*.ts')
    const code = files.filter((text) => !text.includes('export const METRICS')).join('\n')
    for (const name of Object.keys(METRICS)) {
      const call = new RegExp(`(count|record)Metric\\([^)]*'${name}'`)
      expect(name === 'ColdStart' || call.test(code), `${name} is written`).toBe(true)
      expect([...shown], 'shown').toContain(name)
    }
  })

  it('of the queue exists for each kind of job that a worker does', async () => {
    const kinds: string[] = []
    for (const code of await sources('functions/**/*.ts'))
      if (code.includes('drain(')) kinds.push(...[...code.matchAll(/kind: '([a-z-]+)'/g)].map(([, kind = '']) => kind))
    expect(new Set(Object.keys(JOB_KINDS))).toEqual(new Set(kinds))
  })
})
