import type { APIGatewayProxyEvent } from 'aws-lambda'

/** Returns the names and values of a query, in the order sent. */
export const queryOf = ({
  multiValueQueryStringParameters,
}: Pick<APIGatewayProxyEvent, 'multiValueQueryStringParameters'>): [string, string][] =>
  Object.entries(multiValueQueryStringParameters ?? {}).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )

/**
 * Returns the fields of a form or of a query. A field that was sent several times is a list, which no schema of a text
 * accepts.
 */
export function fieldsOf(sent: Iterable<readonly [string, string]>): Record<string, string | string[]> {
  const byName = Map.groupBy(sent, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}
