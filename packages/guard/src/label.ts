import { type GatewayEvent, requestIdOf, wantsHeaderLists } from './event.ts'
import type { AnyPrincipal } from './principal.ts'

/** What a handler returns. */
export interface Result {
  statusCode?: number
  headers?: Record<string, string | number | boolean> | undefined
  multiValueHeaders?: Record<string, (string | number | boolean)[]> | undefined
}

/** Returns the response with the ids of its tenant and request, in place of any that it has. */
export function label<Response extends Result>(
  response: Response,
  event: GatewayEvent,
  principal: AnyPrincipal | null,
): Response {
  const labels: Record<string, string> = { 'x-request-id': requestIdOf(event) }
  if (principal !== null) labels['x-tenant-id'] = principal.tenant.id
  const others = <Value>(headers: Record<string, Value> | undefined): Record<string, Value> =>
    Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !Object.hasOwn(labels, name.toLowerCase())))
  if (wantsHeaderLists(event))
    return { ...response, multiValueHeaders: { ...others(response.multiValueHeaders), ...lists(labels) } }
  return {
    ...response,
    headers: { ...others(response.headers), ...labels },
    ...(response.multiValueHeaders === undefined ? {} : { multiValueHeaders: others(response.multiValueHeaders) }),
  }
}

/** Each header as a list of one value. */
export const lists = (headers: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
