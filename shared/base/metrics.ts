import { Metrics as PowertoolsMetrics, MetricUnit } from '@aws-lambda-powertools/metrics'

const functionName = process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'local'
const metrics = new PowertoolsMetrics({
  namespace: 'Tenantry',
  serviceName: process.env['POWERTOOLS_SERVICE_NAME'] ?? 'tenantry',
  defaultDimensions: { stage: process.env['STAGE'] ?? 'local' },
})

/**
 * Every custom metric, with its unit and its dimension besides `service` and `stage`: `by`, or null for none. `total` says
 * that a sum without the dimension is stored too. CloudWatch bills each combination of a name and its dimensions' values
 * (0.30 USD a month), so a metric has only what an alarm or the dashboard reads, and a tenant, a user or a route is never a
 * dimension.
 */
export const METRICS = {
  /** An instance started. */
  ColdStart: { unit: 'Count', by: 'function' },
  SignInSucceeded: { unit: 'Count', by: null },
  /** Unknown email, wrong password or disabled user. */
  SignInFailed: { unit: 'Count', by: null },
  /** 401 for a session token: `absent`, `malformed`, `unknown` (also expired or revoked), or `ended` during the request. */
  Unauthorized: { unit: 'Count', by: 'cause', total: true },
  Forbidden: { unit: 'Count', by: null },
  /** The service ended a connection that blocked a revocation. */
  RevocationBlockerEnded: { unit: 'Count', by: null },
  /**
   * Decisions for other services: `allowed`, `unauthorized`, `forbidden`, `limited` for an API key, or `failed`. `thrown` is an unauthorized that API
   * Gateway asked for: it is an error of the function, and the only one that is no failure.
   */
  Authorized: { unit: 'Count', by: 'outcome' },
  /**
   * Credentials for other services: `opened`, `none`, or an error of the function: `refused`, when the caller has to change or
   * wait, or `failed`.
   */
  CredentialOpened: { unit: 'Count', by: 'outcome' },
  /** 429 of the functions. A limit that silently drops a mail does not count: that response may not differ in any way. */
  RateLimited: { unit: 'Count', by: 'limit' },
  /** A trusted proxy sent no address of its client: all its clients share the limits of its address. */
  ForwardedForUnreadable: { unit: 'Count', by: null },
  /** 5xx of the functions. */
  ServerError: { unit: 'Count', by: 'function' },
  /** A second factor was refused, by the field of its proof. */
  SecondFactorFailed: { unit: 'Count', by: 'field', total: true },
  /** The sealed secret of a second factor does not open with the factor key. */
  FactorSealFailed: { unit: 'Count', by: null },
  /** The cache failed, and the database alone counted. */
  LimiterDegraded: { unit: 'Count', by: null },
  /** The pepper or the mail key could not be read again; the cached values are in use. */
  SecretRefreshFailed: { unit: 'Count', by: null },
  KmsFailed: { unit: 'Count', by: null },
  /** An encrypted secret or its data key could not be decrypted in the context in which it is stored. */
  DecryptionFailed: { unit: 'Count', by: null },
  VendorUnreachable: { unit: 'Count', by: 'vendor' },
  /** A sync run failed, by its error. A credential that the vendor refused does not count: that is the tenant's to correct. */
  SyncFailed: { unit: 'Count', by: 'error', total: true },
  /** A job failed and will be retried. */
  JobFailed: { unit: 'Count', by: 'kind' },
  /** A job was dead-lettered. */
  JobDead: { unit: 'Count', by: 'kind' },
  /** Too many invitations of a tenant came back, so it may invite nobody. */
  InvitationsStopped: { unit: 'Count', by: null },
  /** Jobs that are due and not leased. */
  QueueWaiting: { unit: 'Count', by: 'kind' },
  /** How long the oldest of them has been due. */
  QueueOldest: { unit: 'Seconds', by: 'kind', total: true },
  /** How long ago the oldest job was added that is neither done nor dead-lettered, also while it waits for a retry. */
  QueueUndone: { unit: 'Seconds', by: 'kind' },
  /** Jobs that were dead-lettered in the last hour, also those whose workers died. */
  QueueDead: { unit: 'Count', by: 'kind', total: true },
  /** How long work waited because every connection of its instance was in use. Not recorded when it did not wait. */
  DatabaseWait: { unit: 'Milliseconds', by: 'function' },
  /** How long it took to open a connection. */
  DatabaseConnect: { unit: 'Milliseconds', by: 'function' },
  /** A connection could not be opened. */
  DatabaseRefused: { unit: 'Count', by: 'function' },
  /** A connection was lost. */
  DatabaseLost: { unit: 'Count', by: 'function' },
  /** A statement presented a tenant or a ticket that the database had not sealed; the connection was closed. */
  ScopeForged: { unit: 'Count', by: null },
  /** A statement left something on a connection that would run for the next caller; the connection was closed. */
  DatabaseUnclean: { unit: 'Count', by: null },
  /** 1 for a sign-in through the public address that worked, 0 for one that failed. */
  ProbeSucceeded: { unit: 'Count', by: null },
  /** 1 when the pages opened through the public address, 0 when one did not. */
  PagesProbeSucceeded: { unit: 'Count', by: null },
  /** Audit entries whose year has no partition. */
  AuditRowsWithoutPartition: { unit: 'Count', by: null },
} as const satisfies Record<string, { unit: keyof typeof MetricUnit; by: string | null; total?: true }>

type Metrics = typeof METRICS

export type MetricName = keyof Metrics

/** The metrics that are stored without a dimension of their own. */
export type TotalMetric = {
  [Name in MetricName]: Metrics[Name] extends { by: null } | { total: true } ? Name : never
}[MetricName]

/** The metrics that are stored by a dimension of their own. */
export type DividedMetric = { [Name in MetricName]: Metrics[Name]['by'] extends null ? never : Name }[MetricName]

/** The value of the extra dimension, where it is not the function's name. */
type Of<Name extends MetricName> = Metrics[Name]['by'] extends 'function' | null ? [] : [of: string]

interface MetricBatch {
  /** The sets of dimensions under which the values are stored. */
  readonly dimensions: readonly Readonly<Record<string, string>>[]
  readonly values: Map<MetricName, number[]>
}

// At the hundredth value of a metric, Powertools writes a line by itself and forgets the dimensions.
const MOST_VALUES = 50

const pending = new Map<string, MetricBatch>()

/** Adds a value to a metric. `metered` writes it at the end of the invocation. */
export function recordMetric<Name extends MetricName>(
  name: Name,
  value: number,
  ...[of = functionName]: Of<Name>
): void {
  const metric = METRICS[name]
  const { by, unit } = metric
  const total = by === null || 'total' in metric
  const key = by === null ? '' : `${by} ${of} ${total}`
  const dimensions = [...(total ? [{}] : []), ...(by === null ? [] : [{ [by]: of }])]
  const batch = pending.get(key) ?? { dimensions, values: new Map<MetricName, number[]>() }
  pending.set(key, batch)
  const values = batch.values.get(name) ?? []
  batch.values.set(name, values)
  if (unit === 'Count') values[0] = (values[0] ?? 0) + value
  else if (values.length < MOST_VALUES) values.push(value)
}

/** Counts one event. */
export const countMetric = <Name extends MetricName>(name: Name, ...of: Of<Name>): void => recordMetric(name, 1, ...of)

let isCold = true

/**
 * Returns the handler, which now writes its metrics when it returns or throws: one line of CloudWatch's embedded metric
 * format for each combination of dimensions.
 */
export const metered =
  <Args extends readonly unknown[], Result>(handle: (...args: Args) => Promise<Result>) =>
  async (...args: Args): Promise<Result> => {
    if (isCold) countMetric('ColdStart')
    isCold = false
    try {
      return await handle(...args)
    } finally {
      if (pending.size > 0) writeMetrics()
    }
  }

function writeMetrics(): void {
  for (const { dimensions, values } of pending.values()) {
    for (const each of dimensions) metrics.addDimensions(each)
    for (const [name, each] of values)
      for (const value of each) metrics.addMetric(name, MetricUnit[METRICS[name].unit], value)
    metrics.publishStoredMetrics()
  }
  pending.clear()
}
