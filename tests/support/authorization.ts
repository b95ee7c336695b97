import type { Route } from './routes.ts'

/** Returns the value of `Authorization` that opens a route: of a session, of an API key or of a service. */
export const authorizationFor = (
  { endpoint: { access } }: Pick<Route, 'endpoint'>,
  { token, key, apiKey }: { token: string; key: { readonly authorization: string }; apiKey: { readonly key: string } },
): string => (access === 'service' ? key.authorization : `Bearer ${access === 'key' ? apiKey.key : token}`)
