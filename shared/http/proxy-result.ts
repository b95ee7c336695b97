import type { APIGatewayProxyResult } from 'aws-lambda'

/**
 * What a function returns to API Gateway. A REST API adds `content-type: application/json` to a response that names no type,
 * also to one without a body. Null prevents that.
 */
export interface ProxyResult extends Omit<APIGatewayProxyResult, 'headers'> {
  headers?: Record<string, string | number | boolean | null>
}
