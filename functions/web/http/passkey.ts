import * as v from 'valibot'
import { Problem } from '#shared/base/problem.ts'
import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { Assertion, Registration } from '#shared/factor/credential.ts'
import { FormRefused } from '#web/http/refusal.ts'
import type { Texts } from '#web/texts/texts.ts'

type Options = ReplyOf<'POST /v1/auth/login/passkey-options'>['options']

/** Returns what a passkey answered, from the field of a form. Throws FormRefused for a text that no browser sends. */
function parsed<S extends v.GenericSchema<unknown, unknown>>(schema: S, text: string | null, texts: Texts) {
  const found = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text)
  if (!found.success) throw passkeyRefused(texts)
  return found.output
}

export const passkeyRefused = ({ fieldErrors }: Texts): FormRefused =>
  new FormRefused({ field: null, message: String(fieldErrors['wrong-passkey']) })

export const assertionOf = (text: string | null, texts: Texts): Assertion => parsed(Assertion, text, texts)
export const registrationOf = (text: string | null, texts: Texts): Registration => parsed(Registration, text, texts)

/**
 * Returns the options of a passkey, or null when the API gives none: there is no passkey, the sign-in is too old, or the API fails. The page
 * has other ways, and says itself what is wrong with them.
 */
export async function passkeyOptions(
  call: Client['call'],
  of: 'step-up' | { readonly sign_in_token?: string },
): Promise<Options | null> {
  try {
    const { options } =
      of === 'step-up'
        ? await call('POST /v1/auth/step-up/passkey-options')
        : await call('POST /v1/auth/login/passkey-options', { body: of })
    return options
  } catch (error) {
    // A Problem: the API did not respond.
    if (!(error instanceof ProblemError || error instanceof Problem)) throw error
    return null
  }
}
