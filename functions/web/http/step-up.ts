import type { Config } from '#shared/base/config.ts'
import { ProblemError } from '#shared/client/client.ts'
import { STEP_UP } from '#shared/client/step-up.ts'
import { type Me, type Proof, proofOf } from '#web/http/me.ts'
import { isButton, type Page } from '#web/http/page.ts'
import { assertionOf } from '#web/http/passkey.ts'
import { FormRefused, ProofRefused } from '#web/http/refusal.ts'
import { given, type WebState } from '#web/http/request.ts'
import { takeToken } from '#web/http/session-token.ts'
import { TEXTS } from '#web/texts/texts.ts'
import type { Refusal } from '#web/view/ui.ts'

/** A form asks for a proof unless this much of the step-up is left, so that people have time to fill it in. */
const LEFT_MS = 300_000

/** Returns the proof that a form of this page asks for, or null if the session has stepped up a moment ago, or the API asks for none. */
export function owedProof({ stepUp }: Page, me: Me | null, { factor, session }: Config): Proof | null {
  const kind = stepUp === null ? undefined : STEP_UP[stepUp]
  if (kind === undefined || me === null) return null
  const proof = proofOf(me)
  if (kind === 'two-factor' && proof === 'password') return null
  const steppedUpAt = Date.parse(me.session.stepped_up_at ?? '1970-01-01')
  const signedInAt = Date.parse(me.session.absolute_expires_at) - session.absoluteSeconds * 1000
  if (kind === 'again' && proof === 'code' && steppedUpAt <= signedInAt) return proof
  const lifetimeMs = factor.stepUpSeconds * 1000
  return steppedUpAt + lifetimeMs - Date.now() < Math.min(LEFT_MS, lifetimeMs / 2) ? proof : null
}

/** Whether a form of the page that is shown asks for a code. A page that says `step-up-required` asks in the form that was sent. */
export function asksForCode(
  { matched, session }: WebState,
  pages: Iterable<Page>,
  config: Config,
  refusal: Refusal | null,
): boolean {
  if (session === null || proofOf(session) !== 'code') return false
  if (refusal?.kind === 'step-up-required') return true
  const { formAt } = given(matched).page
  const forms = [...pages].filter((each) => each.method === 'POST' && each.formAt === formAt && !isButton(each))
  return forms.some((each) => owedProof(each, session, config) !== null)
}

/** The fields of a form that prove presence, and what the API calls each. Who used a passkey may have typed half a code before. */
const FIELDS = [
  ['proof_credential', 'credential'],
  ['proof_code', 'code'],
  ['proof_recovery_code', 'recovery_code'],
  ['proof_password', 'password'],
] as const

/**
 * Steps up by the proof that a form carries, if it owes one. The calls that follow send the new token. Throws ProofRefused when the proof is
 * refused.
 */
export async function stepUpBy(state: WebState, config: Config): Promise<void> {
  const sent = FIELDS.find(([field]) => (state.form?.get(field) ?? '').trim() !== '')
  if (sent === undefined || owedProof(given(state.matched).page, state.session, config) === null) return
  const [field, name] = sent
  const text = state.form?.get(field) ?? ''
  try {
    const proof = name === 'credential' ? { credential: assertionOf(text, TEXTS[state.language]) } : { [name]: text }
    takeToken(state, await given(state.call)('POST /v1/auth/step-up', { body: proof }))
  } catch (error) {
    if (error instanceof FormRefused) throw new ProofRefused(...error.errors)
    if (!(error instanceof ProblemError) || error.status !== 422) throw error
    const { secondFactor: texts, fieldErrors } = TEXTS[state.language]
    const isForm = error.kind === 'validation-failed'
    const messages = {
      code: isForm ? texts.codeFormat : fieldErrors['wrong-code'],
      recovery_code: isForm ? texts.recoveryCodeFormat : texts.wrongRecoveryCode,
      password: fieldErrors['wrong-password'],
      credential: fieldErrors['wrong-passkey'],
    }
    throw new ProofRefused({ field, message: String(messages[name]) })
  }
}
