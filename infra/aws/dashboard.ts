import { Dashboard as CloudWatchDashboard, GraphWidget, type IMetric, type IWidget } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { chunks, measures, sumOf, type Watched } from './measures.ts'

const WIDTH = 8

/** One dashboard for a stage: what an operator looks at first, from the outside in. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id)
    const measured = measures(watched)
    const { own, ownEach } = measured
    const graph = (title: string, left: IMetric[], right: IMetric[] = []): IWidget =>
      new GraphWidget({ title, left, right, width: WIDTH })
    const rows: IWidget[][] = [
      [
        graph('Requests', [measured.requests], [measured.serverErrors, measured.clientErrors]),
        graph('Latency of the API, ms', ['p50', 'p95', 'p99'].map(measured.latency)),
        graph('5xx by function', [ownEach('ServerError')]),
      ],
      [
        graph('Sign-ins', [own('SignInSucceeded'), own('SignInFailed')]),
        graph('401 by cause', [ownEach('Unauthorized')], [own('Forbidden')]),
        graph('429 by limit', [ownEach('RateLimited')], [own('LimiterDegraded')]),
      ],
      ...chunks(
        watched.groups.map((group) =>
          graph(
            `Duration of ${group.node.id}, ms`,
            ['p50', 'p95', 'p99'].map((statistic) => measured.duration(group, statistic)),
          ),
        ),
        3,
      ),
      [
        graph('Failures of functions', measured.failures),
        graph('Throttled functions', measured.throttles, measured.concurrency),
        graph('Cold starts', [ownEach('ColdStart')]),
      ],
      [
        graph('Queue: due jobs', [ownEach('QueueWaiting')]),
        graph('Queue: age of the oldest due job, s', [ownEach('QueueOldest')]),
        graph(
          'Queue: failed and dead',
          [ownEach('JobFailed'), ownEach('JobDead'), ownEach('QueueDead')],
          [measured.deadLetters],
        ),
      ],
      [
        graph('Mail: bounces and complaints, share', [measured.bounceRate, measured.complaintRate]),
        graph('Vault', [own('KmsFailed'), own('DecryptionFailed')], [own('SecretNotReread')]),
        graph('Vendors without an answer', [ownEach('VendorUnreachable')]),
      ],
      [
        graph(
          'Database: capacity, percent',
          [measured.database('ACUUtilization'), measured.database('CPUUtilization')],
          [measured.database('ServerlessDatabaseCapacity')],
        ),
        graph(
          'Database: connections',
          [measured.database('DatabaseConnections')],
          measured.pinned === null ? [] : [measured.pinned],
        ),
        graph(
          'Database: deadlocks and lag of readers, ms',
          [measured.database('Deadlocks')],
          watched.numbers.readers === 0 ? [] : [measured.database('AuroraReplicaLagMaximum')],
        ),
      ],
      [
        graph('Connections of functions: wait and connect, ms', [ownEach('DatabaseWait'), ownEach('DatabaseConnect')]),
        graph('Connections of functions: refused and lost', [ownEach('DatabaseRefused'), ownEach('DatabaseLost')]),
        graph('Audit entries without a partition', [own('AuditRowsWithoutPartition')]),
      ],
      [
        graph('Firewall', [measured.blocked], [measured.allowed]),
        graph('Rotations that failed', [sumOf(measured.rotationFailures, 'failed')]),
      ],
    ]
    new CloudWatchDashboard(this, 'Dashboard', { dashboardName: `tenantry-${watched.stage}`, widgets: rows })
  }
}
