import { Dashboard as CloudWatchDashboard, GraphWidget, type IMetric, type IWidget } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { chunks, type StageMetrics, stageMetrics, type Watched } from './metrics.ts'

const WIDTH = 8

/** The dashboard of a stage, to look at first. It goes from the API inward to the database. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id)
    const metrics = stageMetrics(watched)
    const { own, ownEach } = metrics
    const graph = (title: string, left: IMetric[], right: IMetric[] = []): IWidget =>
      new GraphWidget({ title, left, right, width: WIDTH })
    const firewall = (title: string, { blocked, allowed }: Pick<StageMetrics, 'blocked' | 'allowed'>): IWidget[] =>
      watched.config.firewall ? [graph(title, [blocked], [allowed])] : []
    const rows: IWidget[][] = [
      [
        graph('Requests', [metrics.requests], [metrics.serverErrors, metrics.clientErrors]),
        graph('API latency, ms', ['p50', 'p95', 'p99'].map(metrics.latency)),
        graph('5xx by function', [ownEach('ServerError')]),
      ],
      [
        graph('Pages', [metrics.pages.requests], [metrics.pages.serverErrors, metrics.pages.clientErrors]),
        graph('Latency of pages, ms', ['p50', 'p95', 'p99'].map(metrics.pages.latency)),
        ...firewall('Firewall of pages: blocked and allowed', metrics.pages),
      ],
      [
        graph(
          'Sign-ins, and the probes',
          [own('SignInSucceeded'), own('SignInFailed')],
          [own('ProbeSucceeded'), own('PagesProbeSucceeded')],
        ),
        graph(
          '401 by cause, 403, and wrong second factors by field',
          [ownEach('Unauthorized')],
          [own('Forbidden'), ownEach('SecondFactorFailed')],
        ),
        graph(
          '429 by limit, cache failures, unreadable X-Forwarded-For, ended blockers of revocations, stopped invitations',
          [ownEach('RateLimited')],
          [
            own('LimiterDegraded'),
            own('ForwardedForUnreadable'),
            own('RevocationBlockerEnded'),
            own('InvitationsStopped'),
          ],
        ),
      ],
      ...chunks(
        watched.groups.map((group) =>
          graph(
            `Duration: ${group.node.id}, ms`,
            ['p50', 'p95', 'p99'].map((statistic) => metrics.duration(group, statistic)),
          ),
        ),
        3,
      ),
      [
        graph('Function errors', metrics.failures),
        graph('Function throttles and concurrency', metrics.throttles, metrics.concurrency),
        graph('Cold starts', [ownEach('ColdStart')]),
      ],
      [
        graph('Queue: jobs due', [ownEach('QueueWaiting')]),
        graph('Queue: age of the oldest due job, and of the oldest job, s', [
          ownEach('QueueOldest'),
          ownEach('QueueUndone'),
        ]),
        graph(
          'Queue: failed and dead-lettered',
          [ownEach('JobFailed'), ownEach('JobDead'), ownEach('QueueDead')],
          [metrics.deadLetters],
        ),
      ],
      [
        graph(
          'Mail: bounce and complaint rate (0 to 1), and tenants whose invitations were stopped',
          [metrics.bounceRate, metrics.complaintRate],
          [own('InvitationsStopped')],
        ),
        graph(
          'Vault: KMS failures, failed decryptions, stale secrets',
          [own('KmsFailed'), own('DecryptionFailed'), own('FactorSealFailed')],
          [own('SecretRefreshFailed')],
        ),
        graph('Vendors unreachable, and failed sync runs', [ownEach('VendorUnreachable')], [ownEach('SyncFailed')]),
      ],
      [
        graph(
          'Database: capacity, percent',
          [metrics.database('ACUUtilization'), metrics.database('CPUUtilization')],
          [metrics.database('ServerlessDatabaseCapacity')],
        ),
        graph(
          'Database: connections',
          [metrics.database('DatabaseConnections')],
          metrics.pinned === null ? [] : [metrics.pinned],
        ),
        graph(
          'Database: deadlocks and replica lag, ms',
          [metrics.database('Deadlocks')],
          watched.config.readers === 0 ? [] : [metrics.database('AuroraReplicaLagMaximum')],
        ),
      ],
      [
        graph('Function connections: wait and connect, ms', [ownEach('DatabaseWait'), ownEach('DatabaseConnect')]),
        graph('Function connections: refused, lost, unclean; forged scopes', [
          ownEach('DatabaseRefused'),
          ownEach('DatabaseLost'),
          own('DatabaseUnclean'),
          own('ScopeForged'),
        ]),
        graph('Audit entries without a partition', [own('AuditRowsWithoutPartition')]),
      ],
      [
        ...firewall('Firewall: blocked and allowed', metrics),
        graph('Decisions and credentials for other services, by outcome', [
          ownEach('Authorized'),
          ownEach('CredentialOpened'),
        ]),
        graph(
          'Events: age of the oldest, seconds; lost by the bus, given up by rules',
          [metrics.ageOf('event')],
          [metrics.lostEvents, metrics.undelivered],
        ),
        graph('Failed password rotations', [metrics.rotationFailures]),
      ],
    ]
    new CloudWatchDashboard(this, 'Dashboard', { dashboardName: `tenantry-${watched.stage}`, widgets: rows })
  }
}
