import * as fc from 'fast-check'
import * as OTPAuth from 'otpauth'
import { generateSync } from 'otplib'
import { describe, expect, it } from 'vitest'
import { acceptedStep, codeOf, newTotpSecret, otpauthUri, secretBytes, stepAt } from '#shared/factor/totp.ts'

const STEP = 30
// Any time until the year 2200, in seconds.
const secrets = fc
  .array(fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')), { minLength: 32, maxLength: 32 })
  .map((characters) => characters.join(''))
const times = fc.integer({ min: 100, max: 7_258_118_400 })

describe('a code of an authenticator app', () => {
  // RFC 6238, appendix B, for SHA-1: the last six of the eight digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('is at %i seconds what RFC 6238 says', (seconds, code) => {
    expect(codeOf(Buffer.from('12345678901234567890'), stepAt(seconds))).toBe(code)
  })

  const authors: readonly [string, (secret: string, seconds: number) => string][] = [
    [
      'otpauth',
      (secret, seconds) =>
        new OTPAuth.TOTP({ secret, issuer: 'x', label: 'y' }).generate({ timestamp: seconds * 1000 }),
    ],
    ['otplib', (secret, seconds) => generateSync({ secret, epoch: seconds })],
  ]
  it.each(authors)('by %s is accepted one step early, in time and one step late, and not two', (_name, generate) => {
    fc.assert(
      fc.property(secrets, times, (secret, at) => {
        const accepted = [-2, -1, 0, 1, 2].map((steps) =>
          acceptedStep(secretBytes(secret), generate(secret, at + steps * STEP), at),
        )
        const now = stepAt(at)
        expect(accepted.slice(1, 4)).toEqual([now - 1, now, now + 1])
        expect([accepted[0], accepted[4]]).toEqual([null, null])
      }),
      // Codes of two steps may be the same by chance, one pair in a million: these are not.
      { numRuns: 50, seed: 33 },
    )
  })

  it('is accepted once for a step, and never after that of a later step', () => {
    fc.assert(
      fc.property(times, fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 12 }), (start, moves) => {
        const secret = secretBytes(newTotpSecret())
        const used: number[] = []
        for (const move of moves) {
          const at = Math.max(100, start + move * STEP)
          const step = acceptedStep(secret, codeOf(secret, stepAt(at)), start, used.at(-1))
          if (step === null) continue
          expect(step).toBeGreaterThan(used.at(-1) ?? -1)
          used.push(step)
        }
        expect(new Set(used).size).toBe(used.length)
      }),
    )
  })

  it.each(['', '12345', '1234567', '12 456', '１２３４５６', '-12345', 'abcdef'])(
    'of the form "%s" is refused',
    (code) => {
      expect(acceptedStep(secretBytes(newTotpSecret()), code, 1_000_000)).toBeNull()
    },
  )

  it('has a secret of 160 bits that another library reads from the address of the QR code', () => {
    const secret = newTotpSecret()
    const uri = otpauthUri(secret, { issuer: 'Tenantry & Söhne', email: 'a+b@acme.test' })
    const read = OTPAuth.URI.parse(uri)
    expect(read).toMatchObject({ issuer: 'Tenantry & Söhne', label: 'a+b@acme.test' })
    expect(Buffer.from(read.secret.bytes)).toEqual(secretBytes(secret))
    expect(secretBytes(secret)).toHaveLength(20)
    expect(new Set(Array.from({ length: 100 }, newTotpSecret)).size).toBe(100)
  })
})
