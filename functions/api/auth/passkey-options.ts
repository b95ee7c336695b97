import * as v from 'valibot'
import { ALGORITHMS } from '#shared/factor/passkey.ts'
import type { CredentialRow } from './passkey-queries.ts'

// https://www.w3.org/TR/webauthn-3/#dictdef-publickeycredentialrequestoptionsjson and …creationoptionsjson. A browser reads them with
// PublicKeyCredential.parseRequestOptionsFromJSON and parseCreationOptionsFromJSON.

// As long as the challenge.
const TIMEOUT_MS = 600_000

const Text = (example: string) => v.pipe(v.string(), v.examples([example]))
const Descriptors = v.array(
  v.object({
    type: v.literal('public-key'),
    id: Text('FPRWl9ZkTNmCw0qgGzVQ5A'),
    transports: v.optional(v.array(Text('internal'))),
  }),
)
const Timeout = v.pipe(v.number(), v.examples([TIMEOUT_MS]))

export const RequestOptions = v.object({
  options: v.object({
    challenge: Text('dGhlIGNoYWxsZW5nZSBvZiBhIHBhc3NrZXk'),
    timeout: Timeout,
    rpId: Text('app.tenantry.example'),
    allowCredentials: Descriptors,
    userVerification: v.literal('required'),
  }),
})

export const CreationOptions = v.object({
  options: v.object({
    rp: v.object({ id: Text('app.tenantry.example'), name: Text('Tenantry') }),
    user: v.object({
      id: Text('ASNFZ4mrTe-BI0VniavN7w'),
      name: Text('ann@acme.test'),
      displayName: Text('Ann Archer'),
    }),
    challenge: Text('dGhlIGNoYWxsZW5nZSBvZiBhIHBhc3NrZXk'),
    pubKeyCredParams: v.array(v.object({ type: v.literal('public-key'), alg: v.pipe(v.number(), v.examples([-7])) })),
    timeout: Timeout,
    excludeCredentials: Descriptors,
    authenticatorSelection: v.object({
      residentKey: v.literal('required'),
      requireResidentKey: v.literal(true),
      userVerification: v.literal('required'),
    }),
    attestation: v.literal('none'),
  }),
})

const descriptors = (rows: readonly CredentialRow[]) =>
  rows.flatMap(({ credential_id: id, transports }) =>
    id === null
      ? []
      : [
          {
            type: 'public-key' as const,
            id: Buffer.from(id).toString('base64url'),
            ...(transports === null ? {} : { transports: transports.split(',') }),
          },
        ],
  )

/** Returns the options by which a browser uses one of these passkeys or, without any, lets the user choose. */
export const requestOptions = (challenge: string, rpId: string, passkeys: readonly CredentialRow[]) => ({
  options: {
    challenge,
    timeout: TIMEOUT_MS,
    rpId,
    allowCredentials: descriptors(passkeys),
    userVerification: 'required' as const,
  },
})

/** Returns the options by which a browser makes a passkey on a device that has none of the user's. */
export const creationOptions = (
  challenge: string,
  rp: { id: string; name: string },
  user: { handle: Buffer; email: string; fullName: string | null },
  passkeys: readonly CredentialRow[],
) => ({
  options: {
    rp,
    user: { id: user.handle.toString('base64url'), name: user.email, displayName: user.fullName ?? user.email },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: descriptors(passkeys),
    authenticatorSelection: {
      residentKey: 'required' as const,
      requireResidentKey: true as const,
      userVerification: 'required' as const,
    },
    attestation: 'none' as const,
  },
})
