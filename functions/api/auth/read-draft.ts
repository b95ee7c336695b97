import { notFound } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { describeDraft, Draft, openDraft } from './draft.ts'
import { ownDraft } from './factor-queries.ts'

export const readDraft = endpoint({
  route: 'GET /v1/auth/factors/draft',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Read the draft that this session made',
  needs: ['factor-key'],
  reply: Draft,
  problems: [404],
  async handle(context) {
    const { call, principal, runtime } = context
    const draft = await ownDraft(call, principal.ticket, runtime.config.factor.stepUpSeconds)
    if (draft === null) throw notFound('no open draft of this session')
    return ok(describeDraft(context, openDraft(context, draft), draft.expires_at))
  },
})
