import { type AlarmDefinitions, MINUTE } from './alarm-definition.ts'
import { type StageMetrics, sumOf } from './metrics.ts'

/** The alarms of what protects tenants: limits, secrets, and the isolation in the database. */
export const safetyAlarms = ({ own }: StageMetrics): AlarmDefinitions => ({
  'limiter-degraded': {
    metric: own('LimiterDegraded'),
    over: 0,
    periods: [3, 3],
    missing: 'normal',
    description:
      'The cache has failed for 15 minutes. The database counts rate limits alone, so limits hold and sign-ins work.',
  },
  'secret-not-reread': {
    metric: own('SecretRefreshFailed'),
    over: 0,
    periods: [3, 3],
    missing: 'normal',
    description:
      'Functions cannot refresh their secrets from Secrets Manager and are using cached values. New instances cannot start.',
  },
  'secret-unreadable': {
    metric: sumOf(
      [own('DecryptionFailed', { period: MINUTE }), own('FactorSealFailed', { period: MINUTE })],
      'secrets that do not open',
    ),
    over: 0,
    periods: [1, 1],
    missing: 'normal',
    description:
      'A vendor secret did not decrypt for the tenant and account it is stored for, or the secret of a second factor for its user. Suspect tampering until it is explained.',
  },
  'scope-forged': {
    metric: own('ScopeForged', { period: MINUTE }),
    over: 0,
    periods: [1, 1],
    missing: 'normal',
    description:
      'A statement presented a tenant or a ticket that the database had not sealed, which no code of the service does. Suspect an SQL injection.',
  },
  'connection-unclean': {
    metric: own('DatabaseUnclean', { period: MINUTE }),
    over: 0,
    periods: [1, 1],
    missing: 'normal',
    description:
      'A request left a prepared statement, a cursor or an open transaction on its database connection, which no code of the service does. Suspect an SQL injection.',
  },
  'kms-failed': {
    metric: own('KmsFailed'),
    over: 4,
    periods: [1, 1],
    missing: 'normal',
    description:
      'KMS failed or refused at least 5 times in 5 minutes. Vendor credentials cannot be stored or used; everything else works.',
  },
})
