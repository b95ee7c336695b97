import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { factorCodeHashes } from '#shared/factor/code.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { SentPassword } from '#shared/password/password.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { exactlyOne, ProofEntries, sentProof } from './factor.ts'
import { stepUp as step } from './factor-queries.ts'
import { ownCode, ownDigest, ownPasskey } from './own-proof.ts'
import { factorRejected, recoveryLimit } from './proven-code.ts'
import { SignedIn } from './signed-in.ts'
import { steppedReply } from './stepped-reply.ts'

const PROOFS = ['code', 'recovery_code', 'credential', 'password'] as const

export const stepUp = endpoint({
  route: 'POST /v1/auth/step-up',
  access: { session: true, transactions: 'by call' },
  summary: 'Prove presence, and get a new token for the session',
  description:
    'Takes the password only from a user without a second factor. The old token of the session is dead afterwards.',
  revokes: true,
  needs: ['factor-key', 'invoke:deliver-mail'],
  body: v.pipe(
    v.object({ ...ProofEntries, password: v.optional(SentPassword) }),
    exactlyOne(PROOFS),
    v.examples([{ code: '492039' }]),
  ),
  reply: SignedIn,
  problems: ['factor-rejected', 'rate-limited'],
  async handle(context) {
    const { body, call, principal, runtime } = context
    const { ticket, user } = principal
    const token = newToken()
    const stepped = await step(call, ticket, {
      digest: body.password === undefined ? null : await ownDigest(context, body.password),
      code: body.code === undefined ? null : await ownCode(context, body.code),
      recoveryCode: body.recovery_code === undefined ? null : factorCodeHashes(runtime, user.id, body.recovery_code),
      passkey: body.credential === undefined ? null : await ownPasskey(context, body.credential),
      networkLimit: recoveryLimit(context),
      tokenHash: hashToken(runtime.pepper, token),
      pendingSeconds: runtime.config.session.pendingSeconds,
      source: requestSource(context),
    })
    const mails = body.recovery_code !== undefined || body.credential !== undefined
    await call.invoke('deliver-mail', mails ? undefined : 'rehearsal')
    if (stepped?.refused_by === 'proof') throw factorRejected(sentProof(PROOFS, body))
    return ok(steppedReply(context, token, stepped))
  },
})
