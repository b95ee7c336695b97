import * as v from 'valibot'
import { Problem } from '#shared/base/problem.ts'
import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { Assertion, Registration } from '#shared/factor/credential.ts'
import type { OwnPasskey } from '#web/http/me.ts'
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

/** Returns the passkey by which the person may step up, or null: see `unlessNone`. */
export async function ownPasskey(call: Client['call']): Promise<OwnPasskey | null> {
  const reply = await unlessNone(call('POST /v1/auth/step-up/passkey-options'))
  return reply && { options: reply.options, hasApp: reply.methods.includes('totp') }
}

/** Returns the options of a passkey for a sign-in, or null: see `unlessNone`. */
export const passkeyOptions = async (
  call: Client['call'],
  body: { readonly sign_in_token?: string },
): Promise<Options | null> => (await unlessNone(call('POST /v1/auth/login/passkey-options', { body })))?.options ?? null

/**
 * Returns null when the API gives no options: there is no passkey, the sign-in is too old, or the API fails. The page has other ways, and
 * says itself what is wrong with them.
 */
const unlessNone = <Reply>(called: Promise<Reply>): Promise<Reply | null> =>
  called.catch((error: unknown) => {
    // A Problem: the API did not respond.
    if (!(error instanceof ProblemError || error instanceof Problem)) throw error
    return null
  })
