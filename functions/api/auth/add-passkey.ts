import { hash, randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { factorCodeHashes, SentSetupCode } from '#shared/factor/code.ts'
import { Registration } from '#shared/factor/credential.ts'
import { keyIdOf, witnessOf } from '#shared/factor/factor-key.ts'
import { verifyRegistration } from '#shared/factor/passkey.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { throwIfRefused } from './add-app.ts'
import { codeHashes, openDraft } from './draft.ts'
import { ownDraft } from './factor-queries.ts'
import { Factor, FactorName } from './factor.ts'
import { addPasskey as add } from './passkey-queries.ts'
import { factorRejected } from './proven-code.ts'
import { challengeCheck, passkeyParty } from './proven-passkey.ts'
import { SignedIn } from './signed-in.ts'
import { steppedReply } from './stepped-reply.ts'

export const addPasskey = endpoint({
  route: 'POST /v1/auth/factors/passkey',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Add a passkey',
  description:
    'The first factor of a user needs the setup code of POST /v1/auth/factors/setup-code, takes its recovery codes from the draft, and ' +
    'ends every other session of the user. The session gets a new token.',
  revokes: true,
  needs: ['factor-key', 'invoke:deliver-mail'],
  body: v.object({ name: FactorName, credential: Registration, setup_code: v.optional(SentSetupCode) }),
  reply: v.object({ ...SignedIn.entries, factor: Factor }),
  problems: [404, 'factor-rejected', 'draft-expired', 'factor-limit', 'passkey-exists', 'rate-limited'],
  async handle(context) {
    const { body, call, principal, runtime } = context
    const { session, ticket, user } = principal
    const party = passkeyParty(runtime)
    const { stepUpSeconds } = runtime.config.factor
    // It checks the step-up too.
    const draft = await ownDraft(call, ticket, stepUpSeconds)
    const check = challengeCheck(runtime, { purpose: 'registration', subject: session.id })
    const passkey = await verifyRegistration(body.credential, party, check.isChallenge)
    if (passkey === null || check.answered === null) throw factorRejected('credential')
    const codes = draft && openDraft(context, draft).codes
    const [factorId, token, keyId] = [randomUUID(), newToken(), keyIdOf(runtime.factorKey)]
    const added = await add(call, ticket, {
      factorId,
      name: body.name,
      keyId,
      witnessHash: hash('sha256', witnessOf(runtime, { factorId, keyId }), 'buffer'),
      passkey,
      transports: body.credential.response.transports ?? [],
      rpId: party.rpId,
      challenge: check.answered,
      draftId: draft?.id ?? null,
      codes: codes && codeHashes(context, codes),
      setupCode: body.setup_code === undefined ? null : factorCodeHashes(runtime, user.id, body.setup_code),
      tokenHash: hashToken(runtime.pepper, token),
      pendingSeconds: runtime.config.session.pendingSeconds,
      stepUpSeconds,
      source: requestSource(context),
    })
    await call.invoke('deliver-mail')
    throwIfRefused(context, added)
    const reply = steppedReply(context, token, added)
    const factor = { id: factorId, kind: 'passkey', name: body.name, last_used_at: null } as const
    const createdAt = reply.session.stepped_up_at ?? check.answered.expiresAt.toISOString()
    return ok({ ...reply, factor: { ...factor, created_at: createdAt, synced: passkey.backedUp, usable: true } })
  },
})
