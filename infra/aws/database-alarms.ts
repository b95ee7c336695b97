import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { AlarmDefinition, AlarmDefinitions } from './alarm-definition.ts'
import type { StageMetrics, Watched } from './metrics.ts'

/** The alarms of the database, its proxy and its passwords. */
export function databaseAlarms({ config }: Watched, metrics: StageMetrics): AlarmDefinitions {
  return {
    'database-at-capacity': {
      metric: new MathExpression({
        label: 'used of maximum capacity, percent',
        expression: 'MAX([capacity, cpu])',
        usingMetrics: { capacity: metrics.database('ACUUtilization'), cpu: metrics.database('CPUUtilization') },
      }),
      over: 95,
      periods: [3, 3],
      missing: 'failure',
      description: 'For 15 minutes the database used more than 95 % of its maximum capacity, or reported nothing.',
    },
    'database-connections': {
      metric: metrics.database('DatabaseConnections'),
      over: Math.floor(0.8 * maxConnections(config)),
      periods: [3, 3],
      missing: 'failure',
      description:
        'For 15 minutes more than 80 % of the connections that the database accepts were in use, or it reported nothing.',
    },
    'transaction-ids': {
      metric: metrics.database('MaximumUsedTransactionIDs'),
      over: 1_000_000_000,
      periods: [1, 1],
      missing: 'normal',
      description:
        'The oldest transaction id of the database is a billion transactions old: autovacuum does not get on. At two billions Postgres accepts no write.',
    },
    'database-storage': {
      metric: metrics.database('FreeLocalStorage', { statistic: Stats.MINIMUM }),
      below: 1024 ** 3,
      periods: [1, 1],
      missing: 'normal',
      description: 'A database instance has less than 1 GiB left for temporary files.',
    },
    ...(config.readers === 0
      ? {}
      : {
          'database-replica-lag': {
            metric: metrics.database('AuroraReplicaLagMaximum'),
            over: 2000,
            periods: [3, 3],
            missing: 'normal',
            description: 'For 15 minutes a database reader was more than 2 seconds behind the writer.',
          } satisfies AlarmDefinition,
        }),
    ...(metrics.pinned === null
      ? {}
      : {
          'proxy-pinned': {
            metric: metrics.pinned,
            over: 10,
            periods: [5, 5],
            missing: 'normal',
            description:
              'For 5 minutes more than 10 % of the connections in use through RDS Proxy were pinned to one client.',
          } satisfies AlarmDefinition,
        }),
    'rotation-failed': {
      metric: metrics.rotationFailures,
      over: 0,
      periods: [1, 1],
      missing: 'normal',
      description: 'The rotation of a database password failed. The previous password still works.',
    },
  }
}

/**
 * Returns Aurora's default for max_connections: one connection per 9531392 bytes of maximum memory (2 GiB per capacity unit),
 * at most 5000, or at most 2000 when the minimum is half a unit.
 * https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora-serverless-v2.setting-capacity.html
 */
const maxConnections = ({ maxCapacity, minCapacity }: Watched['config']): number =>
  Math.min(Math.floor((maxCapacity * 2 * 1024 ** 3) / 9_531_392), minCapacity <= 0.5 ? 2000 : 5000)
