import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Authenticator } from '#tests/support/authenticator.ts'
import { finish, newFactorUser, openSignIn, stepUp } from '#tests/support/factor.ts'
import {
  addPasskey,
  newPasskeyOptions,
  newPasskeyUser,
  ORIGIN,
  signInOptions,
  stepUpOptions,
} from '#tests/support/passkey.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { SECOND_FACTOR_IP_LIMIT: '10000' } })

/** A change of some bytes, which leaves none of them as it was. */
interface Change {
  readonly kind: 'flip' | 'cut' | 'insert' | 'append'
  readonly at: number
  readonly by: Uint8Array
}

const Changes = fc.record<Change>({
  kind: fc.constantFrom('flip', 'cut', 'insert', 'append'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  by: fc.uint8Array({ minLength: 1, maxLength: 8 }),
})

function changed(text: string, { kind, at, by }: Change): string {
  const bytes = Buffer.from(text, 'base64url')
  const place = Math.floor(at * bytes.length)
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
  const bit = 1 << ((by[0] ?? 0) & 7)
  const made = {
    flip: () => Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ bit]), after.subarray(1)]),
    cut: () => before,
    insert: () => Buffer.concat([before, by, after]),
    append: () => Buffer.concat([bytes, by]),
  }[kind]()
  return made.equals(bytes) ? changed(text, { kind: 'append', at, by }) : made.toString('base64url')
}

type Response = Readonly<Record<string, string>>

/** The credential with one of its fields changed. */
function mutated<C extends { id: string; rawId: string; response: object }>(
  credential: C,
  field: string,
  change: Change,
): C {
  const response = credential.response as Response
  if (field === 'id') {
    const id = changed(credential.id, change)
    return { ...credential, id, rawId: id }
  }
  return { ...credential, response: { ...response, [field]: changed(response[field] ?? '', change) } }
}

const stateOf = async (userId: string) => {
  const [row] = await service.sql`
    select (select jsonb_agg(to_jsonb(f) order by f.id) from app.factors f where f.user_id = ${userId}) as factors,
           (select jsonb_agg(s.token_key order by s.id) from app.sessions s where user_id = ${userId}) as sessions`
  return row
}

it('a passkey proves nothing after any of 1,000 changes of its answer: alone, as a second factor, or as a step-up', async () => {
  const user = await newPasskeyUser(service, { synced: true })
  const before = await stateOf(user.id)
  const fields = fc.constantFrom('id', 'clientDataJSON', 'authenticatorData', 'signature', 'userHandle')
  const uses = fc.constantFrom('alone', 'second', 'step-up')
  await fc.assert(
    fc.asyncProperty(uses, fields, Changes, async (use, field, change) => {
      if (use === 'alone') {
        const credential = mutated(user.authenticator.get(await signInOptions(service)), field, change)
        const { status } = await service.request('POST /v1/auth/login/passkey', { body: { credential } })
        expect([401, 422]).toContain(status)
      } else if (use === 'second') {
        const token = await openSignIn(service, user.email)
        const credential = mutated(user.authenticator.get(await signInOptions(service, token)), field, change)
        expect((await finish(service, token, { credential })).status).toBe(422)
      } else {
        const credential = mutated(user.authenticator.get(await stepUpOptions(service, user.token)), field, change)
        expect((await stepUp(service, user.token, { credential })).status).toBe(422)
      }
    }),
    { numRuns: 1000 },
  )
  expect(await stateOf(user.id)).toEqual(before)
})

it('a new passkey after any of 300 changes is refused, or is the user’s own; nothing fails', async () => {
  const user = await newFactorUser(service)
  const fields = fc.constantFrom('id', 'clientDataJSON', 'attestationObject')
  let { token } = user
  await fc.assert(
    fc.asyncProperty(fields, Changes, async (field, change) => {
      const made = new Authenticator({ origin: ORIGIN }).create(await newPasskeyOptions(service, token))
      const answer = await addPasskey(service, token, { credential: mutated(made, field, change) })
      expect([200, 422]).toContain(answer.status)
      if (answer.status !== 200) return
      token = String(answer.body.token)
      // Nothing signs a new passkey. A changed key is another key, and nobody has its private part. The id alone names the passkey.
      expect(field).not.toBe('id')
      await service.sql`delete from app.factors where user_id = ${user.id} and kind = 'passkey'`
    }),
    { numRuns: 300 },
  )
  expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
})
