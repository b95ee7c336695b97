import type { APIGatewayProxyEvent } from 'aws-lambda'

/** Returns every value of a header, in the order sent. A browser sends those that decide about access once. */
export const headerValues = (
  { multiValueHeaders }: Pick<APIGatewayProxyEvent, 'multiValueHeaders'>,
  wanted: string,
): readonly string[] =>
  Object.entries(multiValueHeaders ?? {}).flatMap(([name, values]) =>
    name.toLowerCase() === wanted ? (values ?? []) : [],
  )
