import type { Need } from '#shared/needs.ts'

/** A job: a Lambda without routes, as data. Schedules and grants are derived from it. */
export interface Job {
  readonly name: string
  readonly needs: readonly Need[]
  /** How often it is run whether it was woken or not; without it, it is only invoked. */
  readonly everySeconds?: number
  readonly timeoutSeconds: number
}
