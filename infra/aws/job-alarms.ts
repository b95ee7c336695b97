import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import { type AlarmDefinition, type AlarmDefinitions, HOUR, MINUTE } from './alarm-definition.ts'
import type { StageMetrics } from './metrics.ts'

/** The alarms of what runs later: queue, mail, events, sync runs and maintenance. */
export function jobAlarms(metrics: StageMetrics): AlarmDefinitions {
  const { own } = metrics
  return {
    'queue-late': {
      metric: own('QueueOldest', { period: MINUTE }),
      over: 300,
      periods: [3, 3],
      missing: 'failure',
      description: 'For 3 minutes the oldest due job was more than 5 minutes late, or the queue was not measured.',
    },
    'mail-delayed': {
      metric: metrics.ageOf('mail'),
      over: 1800,
      periods: [3, 3],
      missing: 'normal',
      description:
        'An email has waited for more than half an hour: SES fails, sending is paused, or a quota is used up.',
    },
    'invitations-stopped': {
      metric: own('InvitationsStopped'),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'Too many invitations of a tenant came back or were marked as spam. It may invite nobody until an operator allows it.',
    },
    'events-delayed': {
      metric: metrics.ageOf('event'),
      over: 900,
      periods: [3, 3],
      missing: 'normal',
      description:
        'Events have waited for more than 15 minutes: EventBridge fails or refuses, or publish-events does not run. Other services learn of changes late.',
    },
    'events-lost': {
      metric: metrics.lostEvents,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'The event bus took an event and could not encrypt or decrypt it. The event is in the dead-letter queue of the bus.',
    },
    'events-undelivered': {
      metric: metrics.undelivered,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A rule of a service on the event bus could not invoke its target, and EventBridge gave up on the event. That service misses a change.',
    },
    'jobs-dead': {
      metric: own('QueueDead', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description: 'A job was dead-lettered within the last hour: it failed for good and will not be retried.',
    },
    'syncs-failing': {
      metric: own('SyncFailed'),
      over: 2,
      periods: [3, 3],
      missing: 'normal',
      description:
        'For 15 minutes at least 3 sync runs failed in each 5 minutes, for another reason than a refused credential. Catalogs and prices of tenants stay as they were.',
    },
    'dead-letters': {
      metric: metrics.deadLetters,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A run of a scheduled worker failed. Its event is in the dead-letter queue, and the next scheduled run does the work.',
    },
    'dead-letters-lost': {
      metric: { sumOf: metrics.lostDeadLetters, label: 'lost events' },
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description:
        'A run of a scheduled worker failed, and its event did not reach the dead-letter queue. The next scheduled run does the work.',
    },
    'maintenance-missed': {
      metric: new MathExpression({
        label: 'successful runs',
        expression: 'FILL(runs, 0) - FILL(failed, 0)',
        usingMetrics: {
          runs: metrics.invocationsOf('maintain', HOUR),
          failed: metrics.failuresOf('maintain', HOUR),
        },
        period: HOUR,
      }),
      below: 1,
      periods: [3, 3],
      missing: 'failure',
      description:
        'The worker maintain has not succeeded for 3 hours. No audit partitions are created and expired rows stay.',
    },
    'partition-missing': {
      metric: own('AuditRowsWithoutPartition', { statistic: Stats.MAXIMUM }),
      over: 0,
      periods: [3, 3],
      missing: 'normal',
      description: 'The audit log has entries of a year without a partition. They are safe in the default partition.',
    },
    ...(metrics.backups === null
      ? {}
      : {
          'backup-missing': {
            metric: metrics.backups.done,
            below: 1,
            periods: [5, 5],
            missing: 'failure',
            description: 'For 30 hours no daily backup of the database was copied to the vaults of recovery.',
          } satisfies AlarmDefinition,
          'backup-failed': {
            metric: metrics.backups.failed,
            over: 0,
            periods: [1, 1],
            missing: 'normal',
            description: 'A daily backup of the database, or its copy to another vault, failed.',
          } satisfies AlarmDefinition,
        }),
    // Above these rates SES puts an account under review: https://docs.aws.amazon.com/ses/latest/dg/faqs-enforcement.html
    'mail-bounces': {
      metric: metrics.bounceRate,
      over: 0.05,
      periods: [1, 1],
      missing: 'normal',
      description:
        'More than 5 % of the mail bounced. SES puts the account under review, and may pause sending at 10 %.',
    },
    'mail-complaints': {
      metric: metrics.complaintRate,
      over: 0.001,
      periods: [1, 1],
      missing: 'normal',
      description:
        'Recipients marked more than 0.1 % of the mail as spam. SES puts the account under review, and may pause sending at 0.5 %.',
    },
  }
}
