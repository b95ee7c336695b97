import { Buffer } from 'node:buffer'

/** The preference of a request whose response shall bring the session along (RFC 7240). */
export const PREFER_SESSION = { prefer: 'session' } as const

/** The header of such a response: what GET /v1/auth/session returns, as JSON in base64url. */
export const SESSION_HEADER = 'x-session'

export const encodeSession = (session: object): string => Buffer.from(JSON.stringify(session)).toString('base64url')

export const decodeSession = (value: string): unknown => JSON.parse(Buffer.from(value, 'base64url').toString())
