import { hash, randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { invalid, Problem } from '#shared/base/problem.ts'
import { factorCodeHashes, SentSetupCode, SentTotpCode } from '#shared/factor/code.ts'
import { seal, witnessOf } from '#shared/factor/factor-key.ts'
import { acceptedStep, secretBytes } from '#shared/factor/totp.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { codeHashes, openDraft } from './draft.ts'
import { addApp as add, ownDraft, type SteppedSession } from './factor-queries.ts'
import { Factor } from './factor.ts'
import { factorRejected, limitReached } from './proven-code.ts'
import { SignedIn } from './signed-in.ts'
import { steppedReply } from './stepped-reply.ts'

export const draftExpired = (): Problem => new Problem('draft-expired', { detail: 'Make a new draft.' })

/** Throws the problem of a factor that app.add_app or app.add_passkey refused. */
export function throwIfRefused(context: Parameters<typeof limitReached>[1], added: SteppedSession | undefined): void {
  if (added === undefined || added.refused_by === null) return
  switch (added.refused_by) {
    case 'draft':
      throw draftExpired()
    case 'no-setup-code':
      throw invalid([{ pointer: '#/setup_code', code: 'required' }])
    case 'setup-code':
      throw factorRejected('setup_code')
    case 'proof':
      throw factorRejected('credential')
    case 'factor-limit':
    case 'passkey-exists':
      throw new Problem(added.refused_by)
    default:
      throw limitReached(added, context)
  }
}

export const addApp = endpoint({
  route: 'POST /v1/auth/factors/totp',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Add the authenticator app of the draft, or replace the one there is',
  description:
    'The first factor of a user needs the setup code of POST /v1/auth/factors/setup-code. Ends every other session of the user. ' +
    'The session gets a new token.',
  revokes: true,
  needs: ['factor-key', 'invoke:deliver-mail'],
  body: v.object({ code: SentTotpCode, setup_code: v.optional(SentSetupCode) }),
  reply: v.object({ ...SignedIn.entries, factor: Factor }),
  problems: ['factor-rejected', 'draft-expired', 'rate-limited'],
  async handle(context) {
    const { body, call, principal, runtime } = context
    const { ticket, user } = principal
    const { config, pepper } = runtime
    const { stepUpSeconds } = config.factor
    const draft = await ownDraft(call, ticket, stepUpSeconds)
    if (draft === null) throw draftExpired()
    const { secret, codes } = openDraft(context, draft)
    const step = acceptedStep(secretBytes(secret), body.code, Number(draft.at))
    if (step === null) throw factorRejected('code')
    const [factorId, token] = [randomUUID(), newToken()]
    const { sealed, keyId } = seal(runtime, secret, { userId: user.id, rowId: factorId, field: 'totp-secret' })
    const added = await add(call, ticket, {
      draftId: draft.id,
      factorId,
      sealed,
      keyId,
      witnessHash: hash('sha256', witnessOf(runtime, { factorId, keyId }), 'buffer'),
      step,
      codes: codes === null ? null : codeHashes(context, codes),
      setupCode: body.setup_code === undefined ? null : factorCodeHashes(runtime, user.id, body.setup_code),
      tokenHash: hashToken(pepper, token),
      pendingSeconds: config.session.pendingSeconds,
      stepUpSeconds,
      source: requestSource(context),
    })
    await call.invoke('deliver-mail')
    throwIfRefused(context, added)
    const reply = steppedReply(context, token, added)
    const at = reply.session.stepped_up_at ?? draft.expires_at
    const factor = { id: factorId, kind: 'totp', name: 'Authenticator app', created_at: at, last_used_at: at } as const
    return ok({ ...reply, factor: { ...factor, synced: false, usable: true } })
  },
})
