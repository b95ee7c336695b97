import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { FORM_TYPE, JSON_TYPE } from '#shared/http/media-type.ts'
import { ok } from '#shared/http/reply.ts'
import { holds, PERMISSIONS } from '#shared/identity/permissions.ts'
import { Id } from '#shared/schema/id.ts'
import { fault } from '#shared/schema/fault.ts'
import { hasAtMost, isStorable } from '#shared/schema/text.ts'
import { isApiKey } from '#shared/secret/api-key.ts'
import { TOKEN_PATTERN, tokenHashes } from '#shared/secret/secret.ts'
import { introspectToken } from './queries.ts'
import { wrongKey } from './wrong-key.ts'

const parameter = (example: string) =>
  v.pipe(
    v.string(fault({ code: 'repeated' })),
    v.check(hasAtMost(1000), fault({ code: 'too-long', max: 1000 })),
    v.metadata({ maxLength: 1000 }),
    v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
    v.examples([example]),
  )

const Scope = v.pipe(
  v.string(),
  v.examples(['catalog.read customer.write']),
  v.description('The permissions, separated by spaces.'),
)

const ActiveSession = v.object({
  active: v.literal(true),
  token_type: v.literal('Bearer'),
  kind: v.literal('session'),
  sub: v.pipe(Id, v.description('The user.')),
  tenant_id: Id,
  role: v.pipe(v.string(), v.examples(['sales'])),
  scope: Scope,
  sid: v.pipe(Id, v.description('The session.')),
  exp: v.pipe(
    v.number(),
    v.integer(),
    v.examples([1_795_000_000]),
    v.description('When the session ends if it is not used, in seconds since 1970.'),
  ),
  auth_time: v.pipe(
    v.number(),
    v.integer(),
    v.examples([1_794_990_000]),
    v.description('When the user signed in or last stepped up, in seconds since 1970 (RFC 9470).'),
  ),
  acr: v.pipe(
    v.picklist(['aal1', 'aal2']),
    v.description('`aal2`: a second factor was proven in the session (RFC 9470).'),
  ),
})

const ActiveKey = v.object({
  active: v.literal(true),
  token_type: v.literal('Bearer'),
  kind: v.literal('key'),
  sub: v.pipe(Id, v.description('The API key.')),
  tenant_id: Id,
  scope: Scope,
  exp: v.pipe(
    v.number(),
    v.integer(),
    v.examples([1_795_000_000]),
    v.description('When the key expires, in seconds since 1970.'),
  ),
})

const secondsOf = (time: string): number => Math.floor(Date.parse(time) / 1000)

// RFC 7662. A session without a tenant is not active here: it can be used with no other service (section 4).
export const introspect = endpoint({
  route: 'POST /v1/introspect',
  access: 'service',
  summary: 'Ask whether a session token or an API key is valid now, and for what (RFC 7662)',
  description:
    'The decision of every route of this API, for services of the platform. Use it for one request: a revoked session is inactive ' +
    'on the next one. It counts as a use of the session. A session that has selected no tenant is inactive. ' +
    'It takes a service key with the scope `introspect`. `kind` says whether the token is that of a person or the API key of a program.',
  accepts: [JSON_TYPE, FORM_TYPE],
  body: v.object({
    token: parameter('pQ0s3v5x7zAbCdEfGhIjKlMnOpQrStUvWxYz0123456'),
    token_type_hint: v.optional(parameter('access_token')),
  }),
  reply: v.union([ActiveSession, ActiveKey, v.object({ active: v.literal(false) })]),
  problems: [403, 'rate-limited'],
  audit: { none: 'changes nothing of a tenant' },
  async handle({ body: { token }, client, runtime, serviceKey, call }) {
    const isKey = isApiKey(token)
    const found = await introspectToken(
      call.repeatable,
      { name: serviceKey.name, key: serviceKey.hashes(runtime) },
      { hashes: isKey || TOKEN_PATTERN.test(token) ? tokenHashes(runtime, token) : [null, null], isApiKey: isKey },
      runtime.config.session,
    )
    if (found === 'wrong key') throw await wrongKey({ client, runtime })
    if (found === null) return ok({ active: false })
    const common = {
      active: true,
      token_type: 'Bearer',
      tenant_id: found.tenant_id,
      // An owner holds every permission that exists, so that nobody else needs to know what `*` is.
      scope: PERMISSIONS.filter((permission) => holds(found.permissions, permission)).join(' '),
      exp: secondsOf(found.expires_at),
    } as const
    if (found.api_key_id !== null) return ok({ ...common, kind: 'key', sub: found.api_key_id })
    return ok({
      ...common,
      kind: 'session',
      sub: found.user_id,
      role: found.role_code,
      sid: found.session_id,
      auth_time: secondsOf(found.auth_time),
      acr: found.second_factor ? 'aal2' : 'aal1',
    })
  },
})
