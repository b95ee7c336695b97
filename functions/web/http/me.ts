import type { ReplyOf } from '#shared/client/client.ts'

/** The session, as the API shows it. */
export type Me = ReplyOf<'GET /v1/auth/session'>

/** What gives the browser a session, or its session another token. */
export type SignedIn = ReplyOf<'POST /v1/auth/step-up'>

/** What the API says of a sign-in whose password was right, and which owes a second factor. */
export type OwedFactor = Extract<ReplyOf<'POST /v1/auth/login'>, { readonly second_factor: unknown }>['second_factor']

/** Such a sign-in, as the browser keeps it. It is no session. */
export interface OpenSignIn {
  readonly token: string
  readonly email: string
  /** Whether the person has an authenticator app, whose codes are taken. */
  readonly hasApp: boolean
  /** The field by which its forms name it: another tab may begin another sign-in. */
  readonly field: string
}

/** A passkey by which the person may step up, and whether they have an authenticator app, too. */
export interface OwnPasskey {
  readonly options: object
  readonly hasApp: boolean
}

/** What a person proves their presence with: a code of their second factor, or the password if they have none. */
export type Proof = 'code' | 'password'

export const proofOf = ({ session }: Me): Proof => (session.second_factor_at === null ? 'password' : 'code')
