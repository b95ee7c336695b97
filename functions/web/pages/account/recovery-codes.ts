import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import { expectShown, findDraft } from '#web/pages/account/draft.ts'

const BASE = '/account/second-factor'
const CODES = `${BASE}/recovery-codes`

const views = () => import('#web/pages/account/set-up-views.ts')

/** New codes are shown to who has just proven their presence. Everybody else is asked for the proof first. */
export const showRecoveryCodes = page({
  route: `GET ${CODES}`,
  access: 'session',
  load: ({ call }) =>
    findDraft(call).catch((error: unknown) => {
      if (error instanceof ProblemError && error.kind === 'step-up-required') return null
      throw error
    }),
  handle: async (context) => (await views()).codesView(context, context.data),
})

/** Makes new codes. `saved`: puts those of the draft that expires then in the place of the previous ones. */
export const renewRecoveryCodes = page({
  route: `POST ${CODES}`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/recovery-codes',
  form: v.object({ saved: optional }),
  async handle({ form, call, t }) {
    if (form.saved === null) {
      await call('POST /v1/auth/factors/draft', { body: { renew_codes: true } })
      return redirect(CODES)
    }
    await expectShown(call, form.saved, t)
    await call('POST /v1/auth/factors/recovery-codes')
    return redirect(BASE, { notice: 'codes-renewed' })
  },
  again: async (context) =>
    (await views()).codesView(
      context,
      context.refusal?.values['saved'] === undefined ? null : await findDraft(context.call),
    ),
})
