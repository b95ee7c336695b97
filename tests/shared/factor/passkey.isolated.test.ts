import { verifyRegistrationResponse } from '@simplewebauthn/server'
import { beforeEach, expect, it, vi } from 'vitest'
import { verifyRegistration } from '#shared/factor/passkey.ts'
import { Authenticator, type Lie } from '#tests/support/authenticator.ts'

vi.mock('@simplewebauthn/server', { spy: true })

const ORIGIN = 'http://localhost:3001'
const CHALLENGE = 'a-challenge-of-this-test'

beforeEach(() => {
  vi.mocked(verifyRegistrationResponse).mockClear()
})

async function register(lie: Lie) {
  const made = new Authenticator({ origin: ORIGIN }).create({ challenge: CHALLENGE }, lie)
  const credential = { ...made, type: 'public-key' as const }
  const party = { rpId: 'localhost', origin: ORIGIN }
  const verified = await verifyRegistration(credential, party, (challenge) => challenge === CHALLENGE)
  return [verified !== null, vi.mocked(verifyRegistrationResponse).mock.calls.length]
}

// The library asks the addresses that certificates name for revocations: a server that an attacker names would get requests from ours.
it.each([
  ['packed with a certificate', { format: 'packed', statement: new Map([['x5c', Buffer.from('certificate')]]) }],
  ['packed with no certificate in its list', { format: 'packed', statement: new Map([['x5c', new Map()]]) }],
  ['of a TPM', { format: 'tpm' }],
  ['of a security key', { format: 'fido-u2f' }],
  ['of Android', { format: 'android-key' }],
  ['of Apple', { format: 'apple' }],
  ['of no known form', { format: 'homemade' }],
] as const)('an attestation %s never reaches the library', async (_name, lie) => {
  expect(await register(lie)).toEqual([false, 0])
})

it('a passkey without attestation reaches it, and is verified', async () => {
  expect(await register({})).toEqual([true, 1])
})
