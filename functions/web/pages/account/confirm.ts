import * as v from 'valibot'
import { html } from '#web/http/html.ts'
import { proofOf } from '#web/http/me.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { assertionOf, ownPasskey } from '#web/http/passkey.ts'
import { optional, present } from '#web/http/query.ts'
import { FormRefused, fieldMessage } from '#web/http/refusal.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { codeOrRecoveryCode, field, form } from '#web/view/form.ts'
import { passkeyForm } from '#web/view/passkey.ts'

export const askProof = page({
  route: 'GET /account/confirm',
  access: 'session',
  query: v.object({ next: optional }),
  handle: async (context) => proofView(context, context.query.next),
})

/** Steps up, and leads to the page that asked for it. */
export const giveProof = page({
  route: 'POST /account/confirm',
  access: 'session',
  form: v.object({ code: optional, recovery_code: optional, password: optional, credential: optional, next: optional }),
  secrets: ['code'],
  ownTexts: ({ secondFactor: t }) => ({
    code: { 'wrong-format': t.codeFormat },
    recovery_code: { 'wrong-format': t.recoveryCodeFormat, 'wrong-code': t.wrongRecoveryCode },
  }),
  async handle({ form: { next, ...proofs }, session, call, takeToken, ownAddress, t }) {
    const fields = Object.entries(proofs)
    const proof = fields.find(([, value]) => (value ?? '').trim() !== '')
    if (proof === undefined) {
      const [asked] = fields.find(([, value]) => value !== null) ?? [proofOf(session)]
      throw new FormRefused(fieldMessage(asked, t.fieldErrors.required))
    }
    const [name, sent] = proof
    const body = name === 'credential' ? { credential: assertionOf(sent, t) } : { [name]: sent }
    takeToken(await call('POST /v1/auth/step-up', { body }))
    return redirect(ownAddress(next ?? '') ?? '/account/second-factor')
  },
  again: async (context) => proofView(context, context.refusal?.values['next'] ?? null),
})

async function proofView(
  context: PageContext<'session', unknown, unknown, unknown, unknown>,
  next: string | null,
): Promise<View> {
  const { session, ownAddress, call } = context
  const passkey = proofOf(session) === 'password' ? null : await ownPasskey(call)
  const { secondFactor: t } = context.t
  const hidden = present({ next: ownAddress(next ?? '') })
  return view({
    title: t.confirm,
    content: html`<p class="prose">${t.confirmText}</p>
${passkey !== null && passkeyForm(context, { to: '/account/confirm', hidden, options: passkey.options, submit: t.usePasskey })}
${form(context, {
  to: '/account/confirm',
  hidden,
  fields:
    proofOf(session) === 'password'
      ? field(context, {
          name: 'password',
          label: t.proofPassword,
          type: 'password',
          autocomplete: 'current-password',
        })
      : codeOrRecoveryCode(context, passkey?.hasApp === false ? null : 'code', 'recovery_code'),
  submit: t.confirmSubmit,
  back: '/account',
})}`,
  })
}
