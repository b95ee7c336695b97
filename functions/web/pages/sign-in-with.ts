import type { ReplyOf } from '#shared/client/client.ts'
import type { PageContext } from '#web/http/page.ts'
import { withQuery } from '#web/view/parts.ts'

type Context = Pick<
  PageContext<'anyone', unknown, unknown, unknown, unknown>,
  'call' | 'keepOpenSignIn' | 'languageAtSignIn' | 'takeToken'
>

/** Where a sign-in goes on, and the Set-Cookie headers of its language. */
interface GoesOn {
  readonly to: string
  readonly cookies: readonly string[]
}

/** Goes on after a password that is right: to `next` with a session, or to the page that asks for the second factor. */
export function goOn(
  { keepOpenSignIn, languageAtSignIn, takeToken }: Context,
  reply: ReplyOf<'POST /v1/auth/login'>,
  { email, next }: { readonly email: string; readonly next: string | null },
): GoesOn {
  if ('second_factor' in reply)
    return { to: withQuery(keepOpenSignIn(reply.second_factor, email), { next }), cookies: [] }
  takeToken(reply)
  return { to: next ?? '/', cookies: languageAtSignIn }
}

/**
 * Signs in by the ordinary sign-in, with a password that the person has just set. Returns null when the sign-in is refused or fails: then
 * the person signs in themself.
 */
export async function signInWith(
  context: Context,
  {
    email,
    password,
    next = null,
  }: { readonly email: string; readonly password: string; readonly next?: string | null },
): Promise<GoesOn | null> {
  try {
    return goOn(context, await context.call('POST /v1/auth/login', { body: { email, password } }), { email, next })
  } catch {
    return null
  }
}
