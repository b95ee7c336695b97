import { beforeEach, describe, expect, it } from 'vitest'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let tenant: TestTenant<'admin' | 'viewer'>
beforeEach(async () => {
  tenant = await service.newTenant('admin', 'viewer')
})

const read = () => service.request('GET /v1/tenant', { token: tenant.viewer.token })
const patch = (body: unknown, headers: Record<string, string> = {}) =>
  service.request('PATCH /v1/tenant', { token: tenant.admin.token, body, headers })
const pointers = ({ status, body }: { status: number; body: any }) => [
  status,
  ...(body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer),
]

describe('the tenant', () => {
  it('is read with its settings and an ETag, and changed by a merge patch', async () => {
    const before = await read()
    expect(before.body).toMatchObject({ id: tenant.id, slug: tenant.slug, currency: 'USD', settings: {} })
    const changed = await patch(
      {
        legal_name: ' Acme Ltd ',
        timezone: 'Europe/Zurich',
        currency: 'CHF',
        settings: { a: { b: 1, c: [1] }, d: 'x' },
      },
      { 'content-type': 'application/merge-patch+json' },
    )
    expect(changed.body).toMatchObject({ legal_name: 'Acme Ltd', timezone: 'Europe/Zurich', currency: 'CHF' })
    expect(changed.body.updated_at > before.body.updated_at).toBe(true)
    const after = await read()
    expect([after.body, after.headers.get('etag')]).toEqual([changed.body, changed.headers.get('etag')])
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
    const [entry] = await service.sql`select before, after from app.audit_log where tenant_id = ${tenant.id}`
    expect(entry).toMatchObject({
      before: { currency: 'USD' },
      after: { legal_name: 'Acme Ltd', currency: 'CHF', changed_settings: ['a', 'd'] },
    })
  })

  // The examples of RFC 7396, appendix A, that are objects.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ a: 'foo' }, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: {} }, { a: { list: [null, { b: null }] } }, { a: { list: [null, { b: null }] } }],
  ])('with the settings %j and the patch %j has %j', async (settings, change, result) => {
    await patch({ settings })
    expect((await patch({ settings: change })).body.settings).toEqual(result)
    expect((await read()).body.settings).toEqual(result)
  })

  it('does not change by a patch that changes nothing', async () => {
    await patch({ settings: { a: { b: 1 } } })
    const before = await read()
    for (const body of [{}, { settings: {} }, { settings: { a: { b: 1 }, gone: null } }, { currency: 'USD' }])
      expect((await patch(body)).body).toEqual(before.body)
    expect((await read()).headers.get('etag')).toBe(before.headers.get('etag'))
  })

  it.each(['{"__proto__":{"polluted":1}}', '{"a":{"__proto__":{"polluted":1}}}', '{"a":[{"__proto__":null}]}'])(
    'refuses a key named __proto__ at any depth: %s',
    async (settings) => {
      expect(pointers(await patch(`{"settings":${settings}}`))).toEqual([422, '#/settings'])
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
    },
  )

  it.each([
    [{ currency: 'eur' }, '#/currency'],
    [{ currency: 'ZZZ' }, '#/currency'],
    [{ currency: null }, '#/currency'],
    [{ timezone: 'Mars/Olympus' }, '#/timezone'],
    [{ timezone: 'europe/zurich' }, '#/timezone'],
    [{ timezone: '+01:00' }, '#/timezone'],
    [{ legal_name: null }, '#/legal_name'],
    [{ legal_name: ' ' }, '#/legal_name'],
    [{ legal_name: 'a\nb' }, '#/legal_name'],
    [{ legal_name: '\u3164\u3164' }, '#/legal_name'],
    [{ settings: null }, '#/settings'],
    [{ settings: [] }, '#/settings'],
    [{ settings: { a: '\0' } }, '#/settings'],
    [{ settings: { '\ud800': 1 } }, '#/settings'],
    [{ settings: { a: 'x'.repeat(16 * 1024) } }, '#/settings'],
    [[], '#'],
    [{ slug: 'other' }, '#'],
    [{ legal_name: 'Acme', status: 'active' }, '#'],
  ])('rejects %j', async (body, pointer) => {
    expect(pointers(await patch(body))).toEqual([422, pointer])
  })

  it('rejects a number that no settings can hold', async () => {
    expect(pointers(await patch('{"settings":{"a":[1e999]}}'))).toEqual([422, '#/settings'])
  })

  it('has settings of at most 16 KiB in all', async () => {
    const room = 'x'.repeat(16 * 1024 - '{"a":"","b":1}'.length)
    expect((await patch({ settings: { a: room } })).status).toBe(200)
    expect((await patch({ settings: { b: 1 } })).status).toBe(200)
    expect(pointers(await patch({ settings: { b: 10 } }))).toEqual([422, '#/settings'])
    expect((await read()).body.settings.b).toBe(1)
  })

  it.each(
    'password Password smtp_password smtpPassword SMTP-PASSWORD secret client_secret clientSecrets token accessToken api_key apiKey APIKEY x-api-key ａｐｉＫｅｙ pwd pass smtp_pw smtpPass mail.pass access_key_id signing_key authorization Authorization pin card_pin userPin db_pwd otp ssh-key encryptionKey passkey bearer pin1 pässword pаssword ѕесrеt tοken sec\u034fret'.split(
      ' ',
    ),
  )('keeps no secret under the key %s, at any depth', async (key) => {
    expect(pointers(await patch({ settings: { [key]: 'x' } }))).toEqual([422, '#/settings'])
    expect(pointers(await patch({ settings: { a: [{ b: { [key]: 'x' } }] } }))).toEqual([422, '#/settings'])
  })

  it.each(
    'passport_size pass_through compass pinned spinning shipping_days pin_colors opinion key keys keyboard author authors monkey пароль_нет пин größe'.split(
      ' ',
    ),
  )('takes the key %s, which is no secret', async (key) => {
    expect((await patch({ settings: { [key]: 'x' } })).status).toBe(200)
    expect((await patch({ settings: { [key]: null } })).status).toBe(200)
  })

  it('keeps its currency once a deal exists, also when both are concurrent', async () => {
    const deal = () =>
      service.request('POST /v1/deals', { token: tenant.admin.token, body: { customer_name: 'A Customer' } })
    const [made, changed] = await Promise.all([deal(), patch({ currency: 'EUR' })])
    expect(made.status).toBe(200)
    expect((await read()).body.currency).toBe(made.body.currency)
    expect(changed.status).toBe(made.body.currency === 'EUR' ? 200 : 409)
    const { status, body } = await patch({ currency: 'GBP', legal_name: 'Not Stored' })
    expect([status, body.type]).toEqual([409, `${PROBLEM_BASE_URL}/currency-in-use`])
    expect((await read()).body.legal_name).not.toBe('Not Stored')
    expect((await patch({ currency: made.body.currency })).status).toBe(200)
  })
})

describe('If-Match', () => {
  it('rejects a change of another version with 412, and changes nothing', async () => {
    const etag = (await read()).headers.get('etag') ?? ''
    const change = (name: string, ifMatch: string) => patch({ legal_name: name }, { 'if-match': ifMatch })
    expect((await change('First', etag)).status).toBe(200)
    const current = (await read()).headers.get('etag') ?? ''
    for (const stale of [etag, `W/${current}`, current.slice(1, -1), '"x"', '']) {
      const { status, body } = await change('Stale', stale)
      expect([status, body.type], stale).toEqual([412, `${PROBLEM_BASE_URL}/precondition-failed`])
    }
    expect((await read()).body.legal_name).toBe('First')
    expect((await change('Listed', `"x", ${current}`)).status).toBe(200)
    expect((await change('Any', '*')).status).toBe(200)
  })

  it('lets one of several concurrent changes of one version win', async () => {
    const etag = (await read()).headers.get('etag') ?? ''
    const answers = await Promise.all(
      [1, 2, 3, 4].map((number) => patch({ legal_name: `Name ${number}` }, { 'if-match': etag })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412])
  })
})
