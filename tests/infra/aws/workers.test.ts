import { describe, expect, it } from 'vitest'
import { undeliverable } from '#tests/assembly/deliveries.ts'
import { type Assembly, resolver } from '#tests/assembly/template.ts'
import { listed, type Synthesized } from './synthesized.ts'
import { aliased, deployedWorkers, functionsOf, other, prod } from './two-stages.ts'

const SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3600, day: 86_400 }

/** Returns the seconds between two runs of a schedule, such as `rate(2 hours)`. NaN if it is no rate. */
const secondsOf = (expression: unknown): number => {
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(String(expression)) ?? []
  return Number(count) * (SECONDS[unit] ?? Number.NaN)
}

describe('a worker', () => {
  it('runs by its schedule, and the dead-letter queue keeps the event of a failed run', () => {
    const schedules = prod.ofType('AWS::Scheduler::Schedule').map(({ Properties }) => Properties)
    const scheduled = deployedWorkers.filter(({ worker }) => worker.everySeconds !== undefined)
    expect(schedules).toHaveLength(scheduled.length)
    for (const { worker } of scheduled) {
      const lambda = functionsOf(prod, 'prod').get(worker.name)
      const schedule = schedules.find(({ Target }) => aliased(prod, Target.Arn) === lambda)
      expect(secondsOf(schedule?.ScheduleExpression), worker.name).toBe(worker.everySeconds)
      expect(prod.named(schedule?.Target.DeadLetterConfig.Arn)).toBe('JobsFailed')
      expect(prod.named(lambda?.Properties.DeadLetterConfig.TargetArn)).toBe('JobsFailed')
      expect(lambda?.Properties.Timeout).toBe(worker.timeoutSeconds)
    }
  })

  it('is invocable only with an IAM permission, and Secrets Manager alone has one of the resource: for the rotation', () => {
    const [rotation, ...open] = prod.ofType('AWS::Lambda::Permission').map(({ Properties }) => Properties)
    expect(rotation.Principal).toBe('secretsmanager.amazonaws.com')
    expect(rotation.SourceAccount).toEqual({ Ref: 'AWS::AccountId' })
    expect(prod.referred(rotation.FunctionName)).toBe(functionsOf(prod, 'prod').get('rotate-password'))
    expect(open).toEqual([])
  })
})

describe('a message between services', () => {
  const templateOf = (stage: Synthesized): Assembly => ({ folder: '', resources: Object.fromEntries(stage.resources) })
  const lost = (assembly: Assembly) =>
    undeliverable(assembly, resolver(assembly, { keyArn: (id) => `arn:aws:kms:key/${id}`, secretValue: () => '' }))

  it('arrives: no policy of a role, a queue, a topic or a key denies it', () => {
    for (const stage of [prod, other]) expect(lost(templateOf(stage))).toEqual([])
  })

  /** Removes what a service or a role may do from the policies whose ids begin so. */
  const without = (actions: RegExp, policies: RegExp) => (resources: Record<string, any>) => {
    for (const [id, { Properties }] of Object.entries(resources)) {
      const document = policies.test(id) ? (Properties.PolicyDocument ?? Properties.KeyPolicy) : undefined
      for (const statement of document?.Statement ?? [])
        statement.Action = listed(statement.Action).filter((action) => !actions.test(String(action)))
    }
  }
  it.each([
    [
      'the event of a failed run, by the queue',
      without(/sqs:Send/, /^Jobsmaintain.*Policy/),
      /Jobsmaintain.* sqs:Send/,
    ],
    [
      'the event of a failed run, by the key',
      without(/kms:/, /^Jobsmaintain.*Policy/),
      /Jobsmaintain.* kms:GenerateDataKey/,
    ],
    [
      'a schedule’s own event, by the key',
      without(/kms:/, /ScheduleRole.*Policy/),
      /ScheduleRole.* kms:GenerateDataKey/,
    ],
    ['a schedule’s run', without(/lambda:/, /ScheduleRole.*Policy/), /ScheduleRole.* lambda:InvokeFunction/],
    ['an alarm', without(/sns:Publish/, /^OperationsAlarms.*Policy/), /cloudwatch.* sns:Publish/],
    [
      'an event that the bus cannot encrypt, by its queue',
      without(/sqs:Send/, /^EventsFailedPolicy/),
      /events.* sqs:Send/,
    ],
    [
      'an alarm, a bounce and an event, by the key',
      without(/GenerateDataKey/, /^KeysService/),
      /cloudwatch.* kms:Gen[^]*ses.* kms:Gen[^]*events.* kms:Gen/,
    ],
  ])('is missed when a policy denies it: %s', (_what, plant, named) => {
    const resources = structuredClone(Object.fromEntries(prod.resources))
    plant(resources)
    expect(lost({ folder: '', resources }).join('\n')).toMatch(named)
  })
})
