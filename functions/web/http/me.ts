import type { ReplyOf } from '#shared/client/client.ts'

/** The session, as the API shows it. */
export type Me = ReplyOf<'GET /v1/auth/session'>
