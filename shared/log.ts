import { Logger } from '@aws-lambda-powertools/logger'
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics'

const serviceName = process.env['POWERTOOLS_SERVICE_NAME'] ?? 'tenantry'
const functionName = process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'local'
const logger = new Logger({ serviceName })
const metrics = new Metrics({
  namespace: 'Tenantry',
  serviceName,
  defaultDimensions: { stage: process.env['STAGE'] ?? 'local' },
})

const UNITS = {
  Count: MetricUnit.Count,
  Milliseconds: MetricUnit.Milliseconds,
  Seconds: MetricUnit.Seconds,
} as const

type Fields = Readonly<Record<string, string | number | boolean | object | null | undefined>>

/** One JSON line. Pass ids, codes and hashes: never a token, a password, a body, an address of a client or an email. */
export const log = {
  info: (message: string, fields: Fields = {}): void => logger.info(message, { ...fields }),
  warn: (message: string, fields: Fields = {}): void => logger.warn(message, { ...fields }),
  error: (message: string, fields: Fields = {}): void => logger.error(message, { ...fields }),
}

/**
 * Every metric of the functions, its unit, and by what it is told apart. CloudWatch has each twice: for the whole stage
 * (service, stage), and for each value of that one dimension beside those. Values are few and known beforehand, since each
 * is paid for: never a tenant, a person or a route.
 */
export const METRICS = {
  /** An instance began. */
  ColdStart: { unit: 'Count', by: 'function' },
  SignInSucceeded: { unit: 'Count', by: 'function' },
  /** Unknown address, wrong password, disabled account alike. */
  SignInFailed: { unit: 'Count', by: 'function' },
  /** 401 for a token: `absent`, `malformed`, `unknown` (also expired or revoked), `ended` under the request. */
  Unauthorized: { unit: 'Count', by: 'cause' },
  Forbidden: { unit: 'Count', by: 'function' },
  /** 429 of the functions; what drops a mail in silence is not counted, so that it costs nothing. */
  RateLimited: { unit: 'Count', by: 'limit' },
  /** 5xx of the functions. */
  ServerError: { unit: 'Count', by: 'function' },
  /** The cache failed; the database alone counts. */
  LimiterDegraded: { unit: 'Count', by: 'function' },
  SecretNotReread: { unit: 'Count', by: 'function' },
  KmsFailed: { unit: 'Count', by: 'function' },
  /** A sealed secret or its key does not open for where it is stored. */
  DecryptionFailed: { unit: 'Count', by: 'function' },
  VendorUnreachable: { unit: 'Count', by: 'vendor' },
  /** A job failed and will be tried again. */
  JobFailed: { unit: 'Count', by: 'kind' },
  /** A job was put aside for good. */
  JobDead: { unit: 'Count', by: 'kind' },
  /** Jobs that are due and that nobody holds. */
  QueueWaiting: { unit: 'Count', by: 'kind' },
  /** How long the oldest of these has been due. */
  QueueOldest: { unit: 'Seconds', by: 'kind' },
  /** Jobs that were put aside in the last hour, also those whose workers died of them. */
  QueueDead: { unit: 'Count', by: 'kind' },
  /** How long work waited because every connection of its instance was in use; nothing when it did not. */
  DatabaseWait: { unit: 'Milliseconds', by: 'function' },
  /** How long a new connection took. */
  DatabaseConnect: { unit: 'Milliseconds', by: 'function' },
  /** No connection could be made. */
  DatabaseRefused: { unit: 'Count', by: 'function' },
  /** A connection was lost. */
  DatabaseLost: { unit: 'Count', by: 'function' },
  /** Entries of the audit log whose month has no partition. */
  AuditRowsWithoutPartition: { unit: 'Count', by: 'function' },
} as const satisfies Record<string, { unit: keyof typeof UNITS; by: string }>

export type MetricName = keyof typeof METRICS

/** The value of the dimension by which a metric is told apart; the function's name is known here. */
type Of<Name extends MetricName> = (typeof METRICS)[Name]['by'] extends 'function' ? [] : [of: string]

interface MetricBatch {
  readonly by: string
  readonly of: string
  readonly values: Map<MetricName, number[]>
}

// Powertools writes a line of its own accord at the hundredth value of a metric, and forgets the dimensions with it.
const MOST_VALUES = 50

const pending = new Map<string, MetricBatch>()

/** Adds a value to a metric, in its unit. It is written at the end of the invocation (`metered`). */
export function recordMetric<Name extends MetricName>(
  name: Name,
  value: number,
  ...[of = functionName]: Of<Name>
): void {
  const { by, unit } = METRICS[name]
  const key = `${by} ${of}`
  const told = pending.get(key) ?? { by, of, values: new Map<MetricName, number[]>() }
  pending.set(key, told)
  const values = told.values.get(name) ?? []
  told.values.set(name, values)
  if (unit === 'Count') values[0] = (values[0] ?? 0) + value
  else if (values.length < MOST_VALUES) values.push(value)
}

/** Counts one event; written at the end of the invocation (`metered`). */
export const countMetric = <Name extends MetricName>(name: Name, ...of: Of<Name>): void => recordMetric(name, 1, ...of)

let isCold = true

/**
 * A handler whose metrics are written when it ends, however it ends: a line in CloudWatch's embedded format for each
 * value that they are told apart by, and none when nothing was counted.
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
  for (const { by, of, values } of pending.values()) {
    metrics.addDimensions({}).addDimensions({ [by]: of })
    for (const [name, each] of values)
      for (const value of each) metrics.addMetric(name, UNITS[METRICS[name].unit], value)
    metrics.publishStoredMetrics()
  }
  pending.clear()
}

const property = (error: Error, key: string): string | undefined => {
  const value: unknown = Reflect.get(error, key)
  return typeof value === 'string' ? value : undefined
}

/**
 * What may be logged of an error: what it is and where it happened, and its message unless that repeats what was sent or
 * received. Data errors of the database (SQLSTATE classes 22 and 23), parsers, and the services of AWS do: SES names the
 * addresses of a letter that it refuses (https://docs.aws.amazon.com/ses/latest/dg/troubleshoot-error-messages.html).
 */
export function describeError(error: unknown): Fields {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = property(error, 'code')
  const isAnswer = '$fault' in error || '$metadata' in error
  const holdsValues = isAnswer || error instanceof SyntaxError || (code !== undefined && /^2[23]/.test(code))
  return {
    name: error.name,
    code,
    message: holdsValues ? undefined : error.message,
    constraint: property(error, 'constraint_name'),
    table: property(error, 'table_name'),
    routine: property(error, 'routine'),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.trimStart().startsWith('at '))
      .join('\n'),
    cause: error.cause === undefined ? undefined : describeError(error.cause),
  }
}
