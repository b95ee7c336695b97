import { describe, expect, it } from 'vitest'
import { type Algorithm, Authenticator, type Lie } from '#tests/support/authenticator.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import {
  codeNow,
  finish,
  login,
  mailedSetupCode,
  newDraft,
  newFactorUser,
  newUser,
  openSignIn,
  stepUp,
} from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import {
  addPasskey,
  newPasskeyOptions,
  newPasskeyUser,
  ORIGIN,
  signInBy,
  signInOptions,
  stepUpOptions,
} from '#tests/support/passkey.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const list = async (token: string) => (await service.request('GET /v1/auth/factors', { token })).body
const isLive = async (token: string) => (await service.request('GET /v1/auth/session', { token })).status === 200
const mailsTo = async (userId: string) => {
  const jobs =
    await service.sql`select payload ->> 'change' as change from app.jobs where payload ->> 'user_id' = ${userId}`
  return jobs.map(({ change }) => change)
}

describe('a passkey as the first factor', () => {
  it('needs the mailed setup code, takes its codes from the draft, and ends the other sessions', async () => {
    const user = await newUser(service)
    const other = await mintSession(service.sql, { email: user.email })
    const setupCode = await mailedSetupCode(service, user)
    const authenticator = new Authenticator({ origin: ORIGIN })
    const make = async () => authenticator.create(await newPasskeyOptions(service, user.token))
    const missing = await addPasskey(service, user.token, { credential: await make() })
    expect(missing.body.errors).toMatchObject([{ pointer: '#/setup_code', code: 'required' }])
    const wrong = await addPasskey(service, user.token, { credential: await make(), setup_code: '0000-0000' })
    expect(wrong.body.errors).toMatchObject([{ pointer: '#/setup_code', code: 'wrong-code' }])
    const { recovery_codes: codes } = (await newDraft(service, user.token)).body
    const added = await addPasskey(service, user.token, { credential: await make(), setup_code: setupCode })
    expect(added.status).toBe(200)
    expect(added.body.factor).toMatchObject({ kind: 'passkey', name: 'Laptop', synced: false, usable: true })
    expect(added.body.session).toMatchObject({ id: user.sessionId, second_factor_at: expect.any(String) })
    expect([await isLive(user.token), await isLive(other.token), await isLive(added.body.token)]).toEqual([
      false,
      false,
      true,
    ])
    const { data, recovery_codes: left } = await list(added.body.token)
    expect(data).toMatchObject([{ id: added.body.factor.id, kind: 'passkey', name: 'Laptop', last_used_at: null }])
    expect(left.left).toBe(10)
    expect(await mailsTo(user.id)).toContain('passkey-added')
    await service.mail.deliver()
    expect(service.mail.to(user.email).map(({ subject }) => subject)).toContain('A passkey was added')
    const { body } = await login(service, user.email)
    expect(body.second_factor.methods).toEqual(['passkey', 'recovery_code'])
    expect((await finish(service, body.second_factor.sign_in_token, { recovery_code: codes[0] })).status).toBe(200)
  })

  it('is refused without a draft: nobody has a factor without recovery codes', async () => {
    const user = await newUser(service)
    const credential = new Authenticator({ origin: ORIGIN }).create(await newPasskeyOptions(service, user.token))
    const refused = await addPasskey(service, user.token, {
      credential,
      setup_code: await mailedSetupCode(service, user),
    })
    expectProblem(refused, 'draft-expired')
    expect((await list(user.token)).data).toEqual([])
  })
})

describe('a further passkey', () => {
  it('ends no other session, and is named in the options of the next', async () => {
    const user = await newFactorUser(service)
    const other = await mintSession(service.sql, { email: user.email })
    const authenticator = new Authenticator({ origin: ORIGIN, synced: true })
    const options = await newPasskeyOptions(service, user.token)
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'Tenantry' },
      user: { id: Buffer.from(user.id.replaceAll('-', ''), 'hex').toString('base64url'), name: user.email },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    })
    const added = await addPasskey(service, user.token, { credential: authenticator.create(options) })
    expect(added.body.factor.synced).toBe(true)
    expect([await isLive(other.token), await isLive(user.token)]).toEqual([true, false])
    const { excludeCredentials } = await newPasskeyOptions(service, added.body.token)
    expect(excludeCredentials).toEqual([{ type: 'public-key', id: authenticator.id, transports: ['internal'] }])
  })

  it('is refused beside ten, before and after a device makes it, and with the id of one that anybody has', async () => {
    const [user, other] = [await newFactorUser(service), await newPasskeyUser(service)]
    let { token } = user
    const add = async (authenticator: Authenticator) => {
      const credential = authenticator.create(await newPasskeyOptions(service, token))
      return addPasskey(service, token, { credential })
    }
    expectProblem(await add(new Authenticator({ origin: ORIGIN, id: other.authenticator.id })), 'passkey-exists')
    for (let passkeys = 0; passkeys < 9; passkeys += 1)
      token = (await add(new Authenticator({ origin: ORIGIN }))).body.token
    const tenth = new Authenticator({ origin: ORIGIN })
    const options = await newPasskeyOptions(service, token)
    token = (await add(tenth)).body.token
    const credential = new Authenticator({ origin: ORIGIN }).create(options)
    expectProblem(await addPasskey(service, token, { credential }), 'factor-limit')
    // One that was made for another address counts.
    await service.sql`
      update app.factors set rp_id = 'elsewhere.test' where credential_id = ${Buffer.from(tenth.id, 'base64url')}`
    const asked = await service.request('POST /v1/auth/factors/passkey-options', { token })
    expectProblem(asked, 'factor-limit')
    expect((await list(token)).data).toHaveLength(11)
  })

  it('is removed as any factor, after which it signs in nobody', async () => {
    const user = await newPasskeyUser(service)
    const removed = await service.request(`DELETE /v1/auth/factors/${user.passkeyId}`, { token: user.token })
    expect(removed.status).toBe(204)
    expect((await signInBy(service, user.authenticator)).status).toBe(401)
    expect(await mailsTo(user.id)).toContain('passkey-removed')
  })
})

describe('each factor', () => {
  it.each(['totp', 'passkey', 'recovery_code'])(
    'is removed after a proof by %s, and the sign-in offers what is left',
    async (by) => {
      for (const removed of ['totp', 'passkey']) {
        const user = await newPasskeyUser(service)
        const methods = async () => (await login(service, user.email)).body.second_factor.methods
        expect(await methods()).toEqual(['totp', 'passkey', 'recovery_code'])
        const { token } = await mintSession(service.sql, { email: user.email })
        const proofs: Readonly<Record<string, () => Promise<object>>> = {
          totp: async () => ({ code: codeNow(user.secret) }),
          passkey: async () => ({ credential: user.authenticator.get(await stepUpOptions(service, token)) }),
          recovery_code: async () => ({ recovery_code: user.recoveryCodes[0] }),
        }
        const stepped = await stepUp(service, token, (await proofs[by]?.()) ?? {})
        const id = removed === 'totp' ? user.factorId : user.passkeyId
        const answer = await service.request(`DELETE /v1/auth/factors/${id}`, { token: stepped.body.token })
        expect(answer.status).toBe(204)
        expect(await methods()).toEqual(['totp', 'passkey', 'recovery_code'].filter((method) => method !== removed))
      }
    },
  )
})

describe('a passkey', () => {
  it.each([-7, -8, -257] as const)(
    'of the algorithm %i signs in alone: a two-factor session',
    async (algorithm: Algorithm) => {
      const user = await newPasskeyUser(service, { algorithm })
      const options = await signInOptions(service)
      expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [], userVerification: 'required' })
      const answer = await signInBy(service, user.authenticator)
      expect(answer.status).toBe(200)
      expect(Object.keys(answer.body)).toEqual(['token', 'token_type', 'csrf_token', 'session', 'user'])
      expect(answer.body.user.id).toBe(user.id)
      expect(answer.body.session.second_factor_at).not.toBeNull()
    },
  )

  it('finishes an open sign-in, also without a user handle', async () => {
    const user = await newPasskeyUser(service)
    for (const userHandle of [null, user.authenticator.handle]) {
      const token = await openSignIn(service, user.email)
      const options = await signInOptions(service, token)
      expect(options.allowCredentials).toEqual([
        { type: 'public-key', id: user.authenticator.id, transports: ['internal'] },
      ])
      const answer = await finish(service, token, { credential: user.authenticator.get(options, { userHandle }) })
      expect(answer.status).toBe(200)
    }
  })

  it('steps up a session, which gets a new token', async () => {
    const user = await newPasskeyUser(service)
    const session = await mintSession(service.sql, { email: user.email })
    const credential = user.authenticator.get(await stepUpOptions(service, session.token))
    const stepped = await stepUp(service, session.token, { credential })
    expect(stepped.status).toBe(200)
    expect([await isLive(session.token), await isLive(stepped.body.token)]).toEqual([false, true])
  })

  it('has no options for an open sign-in that is gone, nor for a user without one', async () => {
    const user = await newFactorUser(service)
    const ask = (token: string) =>
      service.request('POST /v1/auth/login/passkey-options', { body: { sign_in_token: token } })
    for (const token of ['', 'x'.repeat(43), user.token]) expectProblem(await ask(token), 'sign-in-expired')
    expect((await ask(await openSignIn(service, user.email))).status).toBe(404)
    expect((await service.request('POST /v1/auth/step-up/passkey-options', { token: user.token })).status).toBe(404)
  })

  it('comes with what else the user may step up by', async () => {
    const user = await newPasskeyUser(service)
    const methods = async () =>
      (await service.request('POST /v1/auth/step-up/passkey-options', { token: user.token })).body.methods
    expect(await methods()).toEqual(['totp', 'passkey', 'recovery_code'])
    await service.sql`delete from app.factors where id = ${user.factorId}`
    expect(await methods()).toEqual(['passkey', 'recovery_code'])
    await service.sql`update app.tokens set expires_at = now() where user_id = ${user.id} and purpose = 'recovery_code'`
    expect(await methods()).toEqual(['passkey'])
  })

  it('does not sign in a disabled user, and a reset of the password does not touch it', async () => {
    const user = await newPasskeyUser(service)
    await service.sql`update app.users set disabled_at = now() where id = ${user.id}`
    expect((await signInBy(service, user.authenticator)).status).toBe(401)
    await service.sql`update app.users set disabled_at = null, resets_valid_from = clock_timestamp() where id = ${user.id}`
    expect((await signInBy(service, user.authenticator)).status).toBe(200)
  })

  it('ends the live session whose token its sign-in carries', async () => {
    const user = await newPasskeyUser(service)
    const credential = user.authenticator.get(await signInOptions(service))
    await service.request('POST /v1/auth/login/passkey', { token: user.token, body: { credential } })
    expect(await isLive(user.token)).toBe(false)
  })
})

describe('the counter of a passkey', () => {
  const used = async (synced: boolean, counts: readonly number[]) => {
    const user = await newPasskeyUser(service, { synced })
    const statuses: number[] = []
    for (const signCount of counts) statuses.push((await signInBy(service, user.authenticator, { signCount })).status)
    return { statuses, mails: await mailsTo(user.id) }
  }

  it('must rise on one device, a step back is mailed, and zero does not erase it', async () => {
    const { statuses, mails } = await used(false, [5, 9, 9, 4, 0, 10])
    expect(statuses).toEqual([200, 200, 401, 401, 401, 200])
    expect(mails.filter((change) => change === 'counter-back')).toHaveLength(1)
  })

  it('may stay zero on a device that does not count', async () => {
    expect((await used(false, [0, 0, 0])).statuses).toEqual([200, 200, 200])
  })

  it('may be anything where passkeys are synced', async () => {
    const { statuses, mails } = await used(true, [5, 5, 3, 0, 0])
    expect(statuses).toEqual([200, 200, 200, 200, 200])
    expect(mails).not.toContain('counter-back')
  })
})

describe('the RP ID', () => {
  it('is stored: with another one a passkey is not usable, is still owed, and recovery codes work', async () => {
    const user = await newPasskeyUser(service)
    await service.sql`update app.factors set rp_id = 'old.example' where id = ${user.passkeyId}`
    expect((await signInBy(service, user.authenticator)).status).toBe(401)
    expect((await list(user.token)).data[1]).toMatchObject({ kind: 'passkey', usable: false })
    const renamed = await service.request(`PATCH /v1/auth/factors/${user.passkeyId}`, {
      token: user.token,
      body: { name: 'Old' },
    })
    expect(renamed.body).toMatchObject({ name: 'Old', usable: false })
    expect((await newPasskeyOptions(service, user.token)).excludeCredentials).toEqual([])
    const token = await openSignIn(service, user.email)
    expect((await finish(service, token, { recovery_code: user.recoveryCodes[0] })).status).toBe(200)
  })
})

describe('a hostile authenticator', () => {
  const flipped = (bytes: Buffer): Buffer =>
    Buffer.from(bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)))
  const ANSWERS: Readonly<Record<string, Lie>> = {
    'another origin': { clientData: { origin: 'https://evil.test' } },
    'an origin that begins as ours': { clientData: { origin: `${ORIGIN}.evil.test` } },
    'another port': { clientData: { origin: 'http://localhost:3002' } },
    'no origin': { clientData: { origin: undefined } },
    'another RP ID': { rpId: 'evil.test' },
    'another type': { clientData: { type: 'webauthn.create' } },
    'no type': { clientData: { type: undefined } },
    'a challenge of its own': { clientData: { challenge: Buffer.alloc(54, 7).toString('base64url') } },
    'no challenge': { clientData: { challenge: undefined } },
    'a frame of another origin': { clientData: { crossOrigin: true } },
    'a frame that names its top origin': { clientData: { crossOrigin: true, topOrigin: 'https://evil.test' } },
    'a top origin without a frame': { clientData: { topOrigin: ORIGIN } },
    'a frame as a text': { clientData: { crossOrigin: 'true' } },
    'no presence': { flip: ['up'] },
    'no verification of the user': { flip: ['uv'] },
    neither: { flip: ['up', 'uv'] },
    'a flipped backup flag': { flip: ['be'] },
    'a backup without the flag that allows it': { flip: ['bs'] },
    'another id beside the id': { rawId: 'AAAA' },
    'bytes after its data': { trailing: Buffer.from('more') },
  }
  const ASSERTIONS: Readonly<Record<string, Lie>> = {
    ...ANSWERS,
    'a wrong signature': { signature: flipped },
    'a cut signature': { signature: (right) => right.subarray(0, -1) },
    'a signature of zeros': { signature: (right) => Buffer.alloc(right.length) },
    'the id of no passkey': { id: Buffer.alloc(32, 9).toString('base64url') },
  }
  const EC = new Authenticator({ origin: ORIGIN }).keys.cose
  const key = (label: number, value?: number | Buffer) => {
    const changed = new Map(EC)
    if (value === undefined) changed.delete(label)
    else changed.set(label, value)
    return changed
  }
  const REGISTRATIONS: Readonly<Record<string, Lie>> = {
    ...ANSWERS,
    'another type': { clientData: { type: 'webauthn.get' } },
    'another id than its own': { id: Buffer.alloc(32, 9).toString('base64url') },
    'an unknown algorithm': { key: key(3, -65535) },
    'a P-256 key that claims EdDSA': { key: key(3, -8) },
    'a P-256 key that claims RS256': { key: key(3, -257) },
    'no algorithm': { key: key(3) },
    'another curve': { key: key(-1, 2) },
    'another type of key': { key: key(1, 1) },
    'a point beside the curve': { key: key(-2, Buffer.alloc(32, 1)) },
    'a short coordinate': { key: key(-3, Buffer.alloc(31, 1)) },
    'an RSA key of 512 bits': {
      key: new Map<number, number | Buffer>([
        [1, 3],
        [3, -257],
        [-1, Buffer.alloc(64, 0xff)],
        [-2, Buffer.from([1, 0, 1])],
      ]),
    },
    'a key of 10 KB': {
      key: new Map<number, number | Buffer>([
        [1, 3],
        [3, -257],
        [-1, Buffer.alloc(10_240, 0xff)],
        [-2, Buffer.from([1, 0, 1])],
      ]),
    },
    'a statement in no attestation': { statement: new Map([['sig', Buffer.from('x')]]) },
    'an attestation with certificates': {
      format: 'packed',
      statement: new Map<string, never>([['x5c', Buffer.from('x') as never]]),
    },
    'an attestation of a TPM': { format: 'tpm' },
    'an unknown attestation': { format: 'homemade' },
  }
  // A backup flag is flipped when it differs from the one of the registration, which has none to compare with.
  const { 'a flipped backup flag': _later, ...CREATIONS } = REGISTRATIONS

  const stateOf = async (userId: string) => {
    const [row] = await service.sql`
      select (select jsonb_agg(to_jsonb(f) order by f.id) from app.factors f where f.user_id = ${userId}) as factors,
             (select count(*) from app.sessions where user_id = ${userId}) as sessions`
    return row
  }

  it('signs in by none of its lies, alone or as a second factor, nor steps up; nothing is written', async () => {
    const user = await newPasskeyUser(service)
    const before = await stateOf(user.id)
    for (const [lie, told] of Object.entries(ASSERTIONS)) {
      expect((await signInBy(service, user.authenticator, told)).status, lie).toBe(401)
      const token = await openSignIn(service, user.email)
      const finished = await finish(service, token, {
        credential: user.authenticator.get(await signInOptions(service, token), told),
      })
      expect([finished.status, finished.body.errors?.[0]?.code], lie).toEqual([422, 'wrong-passkey'])
      const stepped = await stepUp(service, user.token, {
        credential: user.authenticator.get(await stepUpOptions(service, user.token), told),
      })
      expect([stepped.status, stepped.body.errors?.[0]?.code], lie).toEqual([422, 'wrong-passkey'])
      await service.sql`delete from app.open_sign_ins`
    }
    expect(await stateOf(user.id)).toEqual(before)
    expect((await signInBy(service, user.authenticator)).status).toBe(200)
  })

  it('adds no passkey by any of its lies', async () => {
    const user = await newFactorUser(service)
    for (const [lie, told] of Object.entries(CREATIONS)) {
      const credential = new Authenticator({ origin: ORIGIN }).create(
        await newPasskeyOptions(service, user.token),
        told,
      )
      const refused = await addPasskey(service, user.token, { credential })
      expect([refused.status, refused.body.errors?.[0]?.pointer], lie).toEqual([422, '#/credential'])
    }
    expect((await list(user.token)).data).toHaveLength(1)
    const credential = new Authenticator({ origin: ORIGIN }).create(await newPasskeyOptions(service, user.token))
    expect((await addPasskey(service, user.token, { credential })).status).toBe(200)
  })

  it('is another user: neither its passkey nor its handle proves the first', async () => {
    const [user, other] = [await newPasskeyUser(service), await newPasskeyUser(service)]
    const { handle } = user.authenticator
    expect((await signInBy(service, user.authenticator, { userHandle: other.authenticator.handle })).status).toBe(401)
    expect((await signInBy(service, user.authenticator, { userHandle: null })).status).toBe(401)
    const stolen = await stepUpOptions(service, user.token)
    for (const credential of [
      other.authenticator.get(stolen),
      other.authenticator.get(stolen, { userHandle: handle }),
      other.authenticator.get(stolen, { id: user.authenticator.id, userHandle: handle }),
      user.authenticator.get(stolen, { userHandle: other.authenticator.handle }),
    ])
      expectProblem(await stepUp(service, user.token, { credential }), 'factor-rejected')
    const token = await openSignIn(service, user.email)
    const credential = other.authenticator.get(await signInOptions(service, token), { userHandle: null })
    expectProblem(await finish(service, token, { credential }), 'factor-rejected')
  })
})

describe('a challenge', () => {
  it('serves its purpose, its open sign-in and its session alone', async () => {
    const user = await newPasskeyUser(service)
    const other = await mintSession(service.sql, { email: user.email })
    const [open, foreign] = [await openSignIn(service, user.email), await openSignIn(service, user.email)]
    const challenges = {
      'sign-in': (await signInOptions(service)).challenge,
      'second factor': (await signInOptions(service, open)).challenge,
      'second factor of another': (await signInOptions(service, foreign)).challenge,
      'step-up': (await stepUpOptions(service, user.token)).challenge,
      'step-up of another': (await stepUpOptions(service, other.token)).challenge,
      registration: (await newPasskeyOptions(service, user.token)).challenge,
    }
    for (const [purpose, challenge] of Object.entries(challenges)) {
      const credential = () => user.authenticator.get({ challenge })
      if (purpose !== 'sign-in') {
        const body = { credential: credential() }
        expect((await service.request('POST /v1/auth/login/passkey', { body })).status, purpose).toBe(401)
      }
      if (purpose !== 'second factor' && purpose !== 'registration')
        expect((await finish(service, open, { credential: credential() })).status, purpose).toBe(422)
      if (purpose !== 'step-up')
        expect((await stepUp(service, user.token, { credential: credential() })).status, purpose).toBe(422)
      if (purpose !== 'registration') {
        const made = new Authenticator({ origin: ORIGIN }).create({ challenge })
        expect((await addPasskey(service, user.token, { credential: made })).status, purpose).toBe(422)
      }
    }
    const { challenge } = await signInOptions(service, open)
    expect((await finish(service, open, { credential: user.authenticator.get({ challenge }) })).status).toBe(200)
  })

  it('is used once, and for ten minutes', async () => {
    const user = await newPasskeyUser(service)
    const options = await signInOptions(service)
    const use = () =>
      service.request('POST /v1/auth/login/passkey', { body: { credential: user.authenticator.get(options) } })
    expect((await use()).status).toBe(200)
    expect((await use()).status).toBe(401)
    const bytes = Buffer.from((await signInOptions(service)).challenge, 'base64url')
    const left = bytes.readUIntBE(16, 6) - Date.now()
    expect(left).toBeGreaterThan(500_000)
    expect(left).toBeLessThanOrEqual(600_000)
    bytes.writeUIntBE(Date.now() + 3_600_000, 16, 6)
    const longer = user.authenticator.get({ challenge: bytes.toString('base64url') })
    expect((await service.request('POST /v1/auth/login/passkey', { body: { credential: longer } })).status).toBe(401)
  })

  it('writes nothing until it is used', async () => {
    const count = async () => (await service.sql`select from app.used_challenges`).length
    const before = await count()
    await signInOptions(service)
    expect(await count()).toBe(before)
  })
})

describe('the limit of a network', () => {
  const limited = useService({ env: { SECOND_FACTOR_IP_LIMIT: '3' } })

  it('refuses further passkeys, alone and for a step-up', async () => {
    const user = await newPasskeyUser(limited)
    for (let tries = 0; tries < 3; tries += 1) expect((await signInBy(limited, user.authenticator)).status).toBe(200)
    expectProblem(await signInBy(limited, user.authenticator), 'rate-limited')
    const credential = user.authenticator.get(await stepUpOptions(limited, user.token))
    expectProblem(await stepUp(limited, user.token, { credential }), 'rate-limited')
  })
})

describe('a front end at an IP address', () => {
  const numeric = useService({ env: { WEB_BASE_URL: 'http://127.0.0.1:3001' } })

  it('has no routes of passkeys: browsers make none there', async () => {
    const { token } = await newUser(numeric)
    const credential = new Authenticator({ origin: ORIGIN }).get({ challenge: 'x' })
    for (const [route, sent] of [
      ['POST /v1/auth/login/passkey-options', { body: {} }],
      [
        'POST /v1/auth/login/passkey',
        { body: { credential: { ...credential, response: { ...credential.response, userHandle: undefined } } } },
      ],
      ['POST /v1/auth/factors/passkey-options', { token }],
      ['POST /v1/auth/step-up/passkey-options', { token }],
    ] as const)
      expect((await numeric.request(route, sent)).status, route).toBe(404)
    expect(
      (await numeric.request('POST /v1/auth/login', { body: { email: 'sales@acme.test', password: PASSWORD } })).status,
    ).toBe(200)
  })
})
