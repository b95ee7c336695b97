import { unauthorized } from '#shared/base/problem.ts'
import type { SessionPrincipal } from '#shared/identity/session.ts'
import type { SteppedSession } from './factor-queries.ts'
import { tokenReply } from './signed-in.ts'

/** Returns the reply with the new token of a session that has stepped up. */
export function steppedReply(
  { principal }: { principal: SessionPrincipal },
  token: string,
  stepped: SteppedSession | undefined,
) {
  if (stepped === undefined) throw unauthorized('the session ended during the request', true)
  const { refused_by: _none, retry_after_seconds: _never, ...times } = stepped
  const { csrfSecret, session, user } = principal
  const { language: _own, ...shown } = user
  return tokenReply({ token, csrfSecret }, { session: { id: session.id, ...times }, user: shown })
}
