import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import type { RelyingParty } from '#shared/base/relying-party.ts'
import type { Assertion, Registration } from '#shared/factor/credential.ts'

/** The COSE algorithms that a passkey may have: EdDSA, ES256 and RS256. */
export const ALGORITHMS = [-8, -7, -257] as const
// What the database stores.
const MAX_KEY_BYTES = 2048
const MIN_MODULUS_BYTES = 256

/** Returns whether a challenge is the one that must be answered. */
export type IsChallenge = (challenge: string) => boolean

/** What a verified assertion says of its passkey. */
export interface Verified {
  readonly signCount: number
  readonly backupEligible: boolean
  readonly backedUp: boolean
}

/** A verified new passkey. `publicKey` is a COSE key. */
export interface NewPasskey extends Verified {
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly algorithm: number
  readonly aaguid: string
}

interface CoseKey {
  get(label: number): unknown
}

// The first passkey of an instance loads the library.
const load = async () => {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ])
  return { ...server, ...helpers }
}
type Library = Awaited<ReturnType<typeof load>>

/** Runs a check of what a client sent. What does not parse is refused as what is wrong. */
async function refusing<T>(check: () => Promise<T | null>): Promise<T | null> {
  try {
    return await check()
  } catch {
    return null
  }
}

/** Returns whether the page that used the passkey was no frame of another origin. The library lets some of them pass. */
function isTopLevel(clientDataJSON: string): boolean {
  const { crossOrigin = false, topOrigin } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))
  return crossOrigin === false && topOrigin === undefined
}

const isBytes = (value: unknown, length: number): value is Uint8Array =>
  value instanceof Uint8Array && value.length === length
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** Returns the key as JSON if its type and curve are those of its algorithm. The library compares neither. */
function jwkOf(key: CoseKey) {
  const [type, algorithm, first, second, third] = [1, 3, -1, -2, -3].map((label) => key.get(label))
  if (algorithm === -7 && type === 2 && first === 1 && isBytes(second, 32) && isBytes(third, 32))
    return { kty: 'EC', crv: 'P-256', x: base64url(second), y: base64url(third) }
  if (algorithm === -8 && type === 1 && first === 6 && isBytes(second, 32))
    return { kty: 'OKP', crv: 'Ed25519', x: base64url(second) }
  const [modulus, exponent] = [first, second]
  if (algorithm === -257 && type === 3 && modulus instanceof Uint8Array && exponent instanceof Uint8Array)
    return modulus.length >= MIN_MODULUS_BYTES ? { kty: 'RSA', n: base64url(modulus), e: base64url(exponent) } : null
  return null
}

interface PasskeyKey {
  readonly algorithm: number
  readonly key: KeyObject
}

/** Returns the public key that a COSE key has. Returns null if its type, curve or algorithm is none of ours. Throws for a point beside its curve. */
function keyOf({ decodeCredentialPublicKey }: Library, publicKey: Uint8Array): PasskeyKey | null {
  if (publicKey.length > MAX_KEY_BYTES) return null
  const key: CoseKey = decodeCredentialPublicKey(new Uint8Array(publicKey))
  const jwk = jwkOf(key)
  if (jwk === null) return null
  return { algorithm: Number(key.get(3)), key: createPublicKey({ key: jwk, format: 'jwk' }) }
}

/** Returns whether the key signed the answer. The library takes a signature with bytes after it; OpenSSL does not. */
function isSigned({ algorithm, key }: PasskeyKey, { response }: Assertion): boolean {
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  const clientHash = hash('sha256', bytes(response.clientDataJSON), 'buffer')
  const signed = Buffer.concat([bytes(response.authenticatorData), clientHash])
  return verify(algorithm === -8 ? null : 'sha256', signed, key, bytes(response.signature))
}

/** Returns whether it needs no certificate. The library asks the addresses in certificates for revocations. */
function isSelfMade({ decodeAttestationObject }: Library, attestationObject: string): boolean {
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = attestation.get('fmt')
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
}

/** Verifies the answer of a passkey with this COSE key. User verification is required. Returns null when it is refused. */
export async function verifyAssertion(
  credential: Assertion,
  publicKey: Uint8Array,
  { rpId, origin }: RelyingParty,
  isChallenge: IsChallenge,
): Promise<Verified | null> {
  const library = await load()
  return refusing(async () => {
    const key = keyOf(library, publicKey)
    if (key === null || !isTopLevel(credential.response.clientDataJSON) || !isSigned(key, credential)) return null
    const { userHandle: _checked, ...response } = credential.response
    const { verified, authenticationInfo } = await library.verifyAuthenticationResponse({
      response: { ...credential, response, clientExtensionResults: {} },
      expectedChallenge: isChallenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedType: 'webauthn.get',
      requireUserVerification: true,
      // The database compares the counters.
      credential: { id: credential.id, publicKey: new Uint8Array(publicKey), counter: 0 },
    })
    if (!verified || !authenticationInfo.userVerified) return null
    return {
      signCount: authenticationInfo.newCounter,
      backupEligible: authenticationInfo.credentialDeviceType === 'multiDevice',
      backedUp: authenticationInfo.credentialBackedUp,
    }
  })
}

/** Verifies a new passkey. User verification is required, attestation is not. Returns null when it is refused. */
export async function verifyRegistration(
  credential: Registration,
  { rpId, origin }: RelyingParty,
  isChallenge: IsChallenge,
): Promise<NewPasskey | null> {
  const library = await load()
  return refusing(async () => {
    const { clientDataJSON, attestationObject } = credential.response
    if (!isTopLevel(clientDataJSON) || !isSelfMade(library, attestationObject)) return null
    const { verified, registrationInfo: made } = await library.verifyRegistrationResponse({
      response: { ...credential, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
      expectedChallenge: isChallenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedType: 'webauthn.create',
      requireUserVerification: true,
      supportedAlgorithmIDs: [...ALGORITHMS],
    })
    if (!verified || made === undefined || !made.userVerified) return null
    const key = keyOf(library, made.credential.publicKey)
    const credentialId = Buffer.from(made.credential.id, 'base64url')
    if (key === null || !credentialId.equals(Buffer.from(credential.id, 'base64url'))) return null
    return {
      credentialId,
      publicKey: Buffer.from(made.credential.publicKey),
      algorithm: key.algorithm,
      aaguid: made.aaguid,
      signCount: made.credential.counter,
      backupEligible: made.credentialDeviceType === 'multiDevice',
      backedUp: made.credentialBackedUp,
    }
  })
}
