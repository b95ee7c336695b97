import type { Config } from '#shared/base/config.ts'
import { notFound } from '#shared/base/problem.ts'
import { type RelyingParty, relyingParty } from '#shared/base/relying-party.ts'
import { type ChallengeFor, readChallenge, type SentChallenge } from '#shared/factor/challenge.ts'
import type { Assertion } from '#shared/factor/credential.ts'
import { witnessOf } from '#shared/factor/factor-key.ts'
import { type IsChallenge, verifyAssertion } from '#shared/factor/passkey.ts'
import type { FactorKey, Pepper } from '#shared/secret/token-secrets.ts'
import type { PasskeyProof, StoredPasskey } from './passkey-value.ts'
import { withFactorKey } from './proven-code.ts'

type Runtime = Pepper & FactorKey & { readonly config: Config }

/** Returns whom passkeys are made for. Throws a 404 where browsers make none. */
export function passkeyParty({ config }: Pick<Runtime, 'config'>): RelyingParty {
  const party = relyingParty(config)
  if (party === null) throw notFound('the host of WEB_BASE_URL is an IP address: browsers make no passkeys')
  return party
}

/** Returns the 16 bytes of a user's id, which a passkey keeps as its user handle. */
export const userHandleOf = (userId: string): Buffer => Buffer.from(userId.replaceAll('-', ''), 'hex')

export const credentialIdOf = ({ id }: Pick<Assertion, 'id'>): Buffer => Buffer.from(id, 'base64url')

/** Returns a check of the challenge that a passkey answered, which keeps it. */
export function challengeCheck(peppers: Pepper, what: ChallengeFor) {
  const check: { isChallenge: IsChallenge; answered: SentChallenge | null } = {
    isChallenge: (challenge) => {
      check.answered = readChallenge(peppers, challenge, what)
      return check.answered !== null
    },
    answered: null,
  }
  return check
}

/**
 * Returns the proof of a passkey, or null when it is refused. A passkey alone names its user by the user handle; as a second factor
 * it may leave it out.
 */
export async function provenPasskey(
  runtime: Runtime,
  credential: Assertion,
  stored: Omit<StoredPasskey, 'sealed_secret'>,
  what: ChallengeFor,
): Promise<PasskeyProof | null> {
  const party = relyingParty(runtime.config)
  const handle = credential.response.userHandle ?? null
  const isOwners =
    handle === null ? what.purpose !== 'sign-in' : Buffer.from(handle, 'base64url').equals(userHandleOf(stored.user_id))
  if (party === null || stored.rp_id !== party.rpId || !isOwners) return null
  const check = challengeCheck(runtime, what)
  const verified = await verifyAssertion(credential, stored.public_key, party, check.isChallenge)
  if (verified === null || check.answered === null) return null
  const { factor_id: factorId, key_id: keyId } = stored
  const witness = withFactorKey(() => witnessOf(runtime, { factorId, keyId }))
  return { ...verified, factorId, witness, rpId: party.rpId, challenge: check.answered }
}
