import { Logger } from '@aws-lambda-powertools/logger'
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics'

const logger = new Logger({ serviceName: process.env['POWERTOOLS_SERVICE_NAME'] ?? 'tenantry' })
const metrics = new Metrics({
  namespace: 'Tenantry',
  serviceName: process.env['POWERTOOLS_SERVICE_NAME'] ?? 'tenantry',
})

type Fields = Readonly<Record<string, string | number | boolean | object | null | undefined>>

/** One JSON line. Pass ids, codes and hashes: never a token, a password, a body, an address of a client or an email. */
export const log = {
  info: (message: string, fields: Fields = {}): void => logger.info(message, { ...fields }),
  warn: (message: string, fields: Fields = {}): void => logger.warn(message, { ...fields }),
  error: (message: string, fields: Fields = {}): void => logger.error(message, { ...fields }),
}

/** Counts one event as a CloudWatch metric, at once. */
export function countMetric(name: string): void {
  metrics.singleMetric().addMetric(name, MetricUnit.Count, 1)
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
