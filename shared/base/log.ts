import { Logger } from '@aws-lambda-powertools/logger'
import { RELEASE } from '#shared/base/release.ts'
import { withoutApiKeys } from '#shared/secret/api-key.ts'

const logger = new Logger({
  serviceName: process.env['POWERTOOLS_SERVICE_NAME'] ?? 'tenantry',
  persistentKeys: { release: RELEASE },
  // Whoever passes a text that contains an API key: the line does not.
  jsonReplacerFn: (_name: string, value: unknown) => (typeof value === 'string' ? withoutApiKeys(value) : value),
})

type Fields = Readonly<Record<string, string | number | boolean | object | null | undefined>>

/** Writes one JSON line, with the release. Pass ids, codes and hashes; never a token, password, body, client address or email. */
export const log = {
  info: (message: string, fields: Fields = {}): void => logger.info(message, { ...fields }),
  warn: (message: string, fields: Fields = {}): void => logger.warn(message, { ...fields }),
  error: (message: string, fields: Fields = {}): void => logger.error(message, { ...fields }),
}

const property = (error: Error, key: string): string | undefined => {
  const value: unknown = Reflect.get(error, key)
  return typeof value === 'string' ? value : undefined
}

/**
 * Returns what may be logged of an error: its kind, its place, and its message unless that can repeat data. Messages do so
 * in data errors of the database (SQLSTATE classes 22 and 23), in parsers, and in AWS services: SES names the addresses of
 * a mail that it rejects (https://docs.aws.amazon.com/ses/latest/dg/troubleshoot-error-messages.html).
 */
export function describeError(error: unknown): Fields {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = property(error, 'code')
  const isFromAws = '$fault' in error || '$metadata' in error
  const repeatsData = isFromAws || error instanceof SyntaxError || (code !== undefined && /^2[23]/.test(code))
  return {
    name: error.name,
    code,
    message: repeatsData ? undefined : error.message,
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
