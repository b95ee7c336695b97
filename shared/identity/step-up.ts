import { Problem } from '#shared/base/problem.ts'
import type { Config } from '#shared/base/config.ts'
import { hasSteppedUp } from '#shared/identity/has-stepped-up.ts'
import type { SessionPrincipal } from '#shared/identity/session.ts'

/**
 * What the session must have proven, beyond being live. The database checks it again under the locks of a write.
 *
 * `true`: its user signed in or stepped up in the last STEP_UP_SECONDS. `two-factor`: the same, in a two-factor session alone.
 * `again`: a two-factor session must also have stepped up after its sign-in.
 */
export type StepUp = true | 'two-factor' | 'again'

type Session = Pick<SessionPrincipal, 'session' | 'signedInAt'>

/** Returns the greatest age in seconds of a session's last step-up, or null when it needs none. The database checks it by its own clock. */
export const requiredStepUpSeconds = (
  { session }: Session,
  stepUp: StepUp | null,
  { stepUpSeconds }: Pick<Config['factor'], 'stepUpSeconds'>,
): number | null =>
  stepUp === null || (stepUp === 'two-factor' && session.second_factor_at === null) ? null : stepUpSeconds

/** Throws the 403 of a session that needs a step-up. */
export function requireStepUp(
  principal: Session,
  stepUp: StepUp,
  config: Pick<Config['factor'], 'stepUpSeconds'>,
): void {
  const { session, signedInAt } = principal
  const seconds = requiredStepUpSeconds(principal, stepUp, config)
  if (seconds === null) return
  const isOnlySignIn = session.second_factor_at !== null && session.stepped_up_at === signedInAt
  if (!hasSteppedUp(session, seconds) || (stepUp === 'again' && isOnlySignIn)) throw new Problem('step-up-required')
}
