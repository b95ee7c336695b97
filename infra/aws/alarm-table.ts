// It has more than 300 lines, because it is one list: every alarm.

/** Whom an alarm tells. */
export const SEVERITIES = {
  wake: 'wakes the person on call',
  morning: 'waits for the morning',
  release: 'tells nobody, and only stops a release',
} as const

/** The pages of infra/runbook with the entries of alarms. */
export type AlarmPage = 'requests' | 'safety' | 'jobs' | 'database'

/** What the front page of the runbook says of an alarm. */
export interface AlarmEntry {
  readonly page: AlarmPage
  readonly severity: keyof typeof SEVERITIES
  /** What people feel while it is on. */
  readonly felt: string
  /** What to run first. `STAGE` stands for the stage. */
  readonly first: string
  /** Stops a release while it is on, and moves it back. Not for alarms of hours, which stay on after the repair. */
  readonly stopsReleases?: true
}

/** Follows the log of a function. */
const log = (name: string): string => `aws logs tail /tenantry/STAGE/${name} --since 1h`

/** Names a saved query of CloudWatch Logs Insights. */
const query = (name: string): string => `Logs Insights: tenantry-STAGE/${name}`

const sql = (name: string): string => `npm run operate -- sql ${name} --stage STAGE --reason TEXT`

const FAULT = query('server-errors-by-route')
const NOTHING_YET = 'Nothing yet.'

/** Every alarm, in the order of the runbook. `npm run runbook` writes its front page from this. */
export const ALARMS = {
  'sign-in-unreachable': {
    page: 'requests',
    severity: 'wake',
    felt: 'Nobody can sign in, or nobody reaches the API.',
    first: log('probe-sign-in'),
  },
  'pages-unreachable': {
    page: 'requests',
    severity: 'wake',
    felt: 'Nobody can open the pages.',
    first: log('probe-sign-in'),
  },
  'api-errors': {
    page: 'requests',
    severity: 'wake',
    felt: 'Requests fail.',
    first: FAULT,
    stopsReleases: true,
  },
  'api-errors-slow': {
    page: 'requests',
    severity: 'morning',
    felt: 'A few requests fail, for hours.',
    first: FAULT,
  },
  'api-latency': {
    page: 'requests',
    severity: 'wake',
    felt: 'Requests are slow.',
    first: query('slowest-requests'),
    stopsReleases: true,
  },
  'page-errors': {
    page: 'requests',
    severity: 'wake',
    felt: 'Pages fail.',
    first: log('web'),
    stopsReleases: true,
  },
  'page-latency': {
    page: 'requests',
    severity: 'morning',
    felt: 'Pages are slow.',
    first: query('slowest-requests'),
  },
  'decisions-failing': {
    page: 'requests',
    severity: 'wake',
    felt: 'Other services refuse requests with 503.',
    first: log('authorize'),
    stopsReleases: true,
  },
  'credentials-failing': {
    page: 'requests',
    severity: 'wake',
    felt: 'Other services get no vendor credential.',
    first: log('open-credential'),
    stopsReleases: true,
  },
  'functions-throttled': {
    page: 'requests',
    severity: 'wake',
    felt: 'Some requests fail.',
    first: 'aws lambda get-account-settings',
    stopsReleases: true,
  },
  'release-errors': {
    page: 'requests',
    severity: 'release',
    felt: 'A few requests failed during a release.',
    first: FAULT,
    stopsReleases: true,
  },
  'firewall-blocks': {
    page: 'requests',
    severity: 'morning',
    felt: 'Nothing, or some customers get 403.',
    first: 'aws wafv2 list-web-acls --scope REGIONAL',
  },
  'customers-refused': {
    page: 'requests',
    severity: 'morning',
    felt: 'Some customers get 403.',
    first: 'aws wafv2 list-web-acls --scope REGIONAL',
  },
  'certificate-expiring': {
    page: 'requests',
    severity: 'morning',
    felt: 'Nothing yet. In weeks nobody reaches the domain.',
    first: 'aws acm list-certificates',
  },
  'sign-in-failures': {
    page: 'requests',
    severity: 'wake',
    felt: 'Nobody can sign in, or somebody guesses passwords or codes.',
    first: log('auth'),
  },
  'tokens-refused': {
    page: 'requests',
    severity: 'morning',
    felt: 'People are signed out, or nothing.',
    first: 'Dashboard tenantry-STAGE: 401 by cause',
  },
  'secret-unreadable': {
    page: 'safety',
    severity: 'wake',
    felt: 'A tenant cannot use a vendor account, or codes of apps get 503. Suspect tampering.',
    first: FAULT,
  },
  'scope-forged': {
    page: 'safety',
    severity: 'wake',
    felt: 'Nothing. Suspect an SQL injection.',
    first: FAULT,
  },
  'connection-unclean': {
    page: 'safety',
    severity: 'wake',
    felt: 'Nothing. Suspect an SQL injection.',
    first: FAULT,
  },
  'kms-failed': {
    page: 'safety',
    severity: 'wake',
    felt: 'Vendor accounts cannot be connected or used.',
    first: 'aws kms list-keys',
  },
  'secret-not-reread': {
    page: 'safety',
    severity: 'wake',
    felt: 'Nothing yet. New instances cannot start.',
    first: 'aws secretsmanager list-secrets',
  },
  'limiter-degraded': {
    page: 'safety',
    severity: 'morning',
    felt: 'Nothing. The database counts limits alone.',
    first: log('auth'),
  },
  'queue-late': {
    page: 'jobs',
    severity: 'wake',
    felt: 'Mails, vendor checks or catalogs are late.',
    first: log('deliver-mail'),
  },
  'mail-delayed': {
    page: 'jobs',
    severity: 'wake',
    felt: 'Mails do not arrive: invitations, password resets.',
    first: 'aws sesv2 get-account',
  },
  'mail-bounces': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing yet. SES may stop all mail.',
    first: sql('bounces'),
  },
  'mail-complaints': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing yet. SES may stop all mail.',
    first: sql('bounces'),
  },
  'invitations-stopped': {
    page: 'jobs',
    severity: 'morning',
    felt: 'One tenant can invite nobody.',
    first: sql('tenants'),
  },
  'events-delayed': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Other services learn of changes late.',
    first: log('publish-events'),
  },
  'events-lost': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Other services miss a change.',
    first: 'aws sqs list-queues',
  },
  'events-undelivered': {
    page: 'jobs',
    severity: 'morning',
    felt: 'One other service misses a change.',
    first: 'aws events list-rules --event-bus-name tenantry-STAGE',
  },
  'jobs-dead': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Somebody waits for a mail or a vendor check that will not come.',
    first: sql('dead-letters'),
  },
  'dead-letters': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing. The next scheduled run does the work.',
    first: 'aws sqs list-queues',
  },
  'dead-letters-lost': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing. The next scheduled run does the work.',
    first: 'aws sqs list-queues',
  },
  'syncs-failing': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Catalogs and prices stay as they were.',
    first: sql('failed-syncs'),
  },
  'maintenance-missed': {
    page: 'jobs',
    severity: 'morning',
    felt: NOTHING_YET,
    first: log('maintain'),
  },
  'partition-missing': {
    page: 'jobs',
    severity: 'morning',
    felt: NOTHING_YET,
    first: sql('partitions'),
  },
  'backup-missing': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing. The loss of the Region would lose more than a day.',
    first: 'aws backup list-copy-jobs',
  },
  'backup-failed': {
    page: 'jobs',
    severity: 'morning',
    felt: 'Nothing. The loss of the Region would lose more than a day.',
    first: 'aws backup list-copy-jobs --by-state FAILED',
  },
  'database-at-capacity': {
    page: 'database',
    severity: 'wake',
    felt: 'Requests are slow, then fail.',
    first: sql('connections'),
  },
  'database-connections': {
    page: 'database',
    severity: 'wake',
    felt: 'Nothing yet. Soon requests fail.',
    first: sql('connections'),
  },
  'transaction-ids': {
    page: 'database',
    severity: 'morning',
    felt: 'Nothing yet. In weeks Postgres accepts no write.',
    first: sql('transactions'),
  },
  'database-storage': {
    page: 'database',
    severity: 'wake',
    felt: 'Nothing yet. Soon statements fail.',
    first: sql('temporary-files'),
  },
  'database-replica-lag': {
    page: 'database',
    severity: 'morning',
    felt: 'Nothing. A failover would take longer.',
    first: 'aws rds describe-db-instances',
  },
  'proxy-pinned': {
    page: 'database',
    severity: 'morning',
    felt: NOTHING_YET,
    first: sql('connections'),
  },
  'rotation-failed': {
    page: 'database',
    severity: 'morning',
    felt: 'Nothing. The previous password works.',
    first: log('rotate-password'),
  },
} as const satisfies Readonly<Record<string, AlarmEntry>>

export type AlarmName = keyof typeof ALARMS

/** Every alarm with its name. */
export const alarmEntries = (): { readonly name: AlarmName; readonly entry: AlarmEntry }[] =>
  (Object.keys(ALARMS) as AlarmName[]).map((name) => ({ name, entry: ALARMS[name] }))
