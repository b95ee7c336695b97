import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

// https://www.w3.org/TR/webauthn-3/#dictdef-authenticationresponsejson and #dictdef-registrationresponsejson. Keys that we do not
// need are ignored: browsers and password managers add some.

const base64url = (maxLength: number, example: string) =>
  v.pipe(
    v.string(),
    v.maxLength(maxLength),
    v.regex(/^[\w-]+$/, fault({ code: 'wrong-format', format: 'base64url' })),
    v.examples([example]),
  )

// A credential id has at most 1,023 bytes.
const CredentialId = base64url(1364, 'FPRWl9ZkTNmCw0qgGzVQ5A')
const ClientData = base64url(4000, 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0')
const PublicKeyType = v.literal('public-key', fault({ code: 'not-a-choice', choices: 'public-key' }))
const ids = { id: CredentialId, rawId: CredentialId, type: PublicKeyType }

/** What a passkey answers a challenge with. */
export const Assertion = v.object({
  ...ids,
  response: v.object({
    clientDataJSON: ClientData,
    authenticatorData: base64url(4000, 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MdAAAAAA'),
    signature: base64url(2000, 'MEUCIQDtH3vN'),
    userHandle: v.nullish(base64url(100, 'ASNFZ4mrTe-BI0VniavN7w')),
  }),
})

export type Assertion = v.InferOutput<typeof Assertion>

const TRANSPORTS: readonly string[] = ['ble', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/** A new passkey. Of its transports, those that browsers know count. */
export const Registration = v.object({
  ...ids,
  response: v.object({
    clientDataJSON: ClientData,
    attestationObject: base64url(15_000, 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YQ'),
    transports: v.optional(
      v.pipe(
        v.array(v.pipe(v.string(), v.examples(['internal']))),
        v.maxLength(20),
        v.transform((sent) => TRANSPORTS.filter((transport) => sent.includes(transport))),
      ),
    ),
  }),
})

export type Registration = v.InferOutput<typeof Registration>
