import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { draftExpired } from './add-app.ts'
import { codeHashes, openDraft } from './draft.ts'
import { ownDraft, renewRecoveryCodes as renew } from './factor-queries.ts'

export const renewRecoveryCodes = endpoint({
  route: 'POST /v1/auth/factors/recovery-codes',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Replace the recovery codes by those of the draft',
  needs: ['factor-key', 'invoke:deliver-mail'],
  problems: ['draft-expired'],
  async handle(context) {
    const { call, principal, runtime } = context
    const { stepUpSeconds } = runtime.config.factor
    const draft = await ownDraft(call, principal.ticket, stepUpSeconds)
    const codes = draft === null ? null : openDraft(context, draft).codes
    if (draft === null || codes === null) throw draftExpired()
    const renewed = await renew(call, principal.ticket, {
      draftId: draft.id,
      codes: codeHashes(context, codes),
      stepUpSeconds,
      source: requestSource(context),
    })
    if (!renewed) throw draftExpired()
    await call.invoke('deliver-mail')
    return noContent()
  },
})
