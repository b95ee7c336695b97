/** What a session must have proven, beyond its permission. */
export interface StepUpOptions {
  /**
   * From 1 to 3600: the user must have signed in or stepped up in so many seconds. Otherwise the request gets a 403 of the type
   * `step-up-required`. Such a decision is never kept.
   */
  readonly stepUpSeconds?: number | undefined
}

const MOST_SECONDS = 3600

/** Returns the seconds, or null without them. Throws when they are out of range. */
export function checkStepUp({ stepUpSeconds }: StepUpOptions): number | null {
  if (stepUpSeconds === undefined) return null
  if (Number.isInteger(stepUpSeconds) && stepUpSeconds >= 1 && stepUpSeconds <= MOST_SECONDS) return stepUpSeconds
  throw new RangeError(`stepUpSeconds must be a whole number from 1 to ${MOST_SECONDS}`)
}
