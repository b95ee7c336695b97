import type { Need } from '#shared/needs.ts'

/** A job: a Lambda without routes, as data. Schedules and grants are derived from it. */
export interface Job<N extends Need = Need> {
  readonly name: string
  readonly needs: readonly N[]
  /** How often the schedule invokes it, in addition to other functions; without it, there is no schedule. */
  readonly everySeconds?: number
  readonly timeoutSeconds: number
  /** What invokes it with messages: `mail-events` are the bounces and complaints that SES reports. */
  readonly receives?: 'mail-events'
  /** Who else invokes it: the services that cdk.json names, each by an alias of its own name. */
  readonly callers?: 'named-services'
}

/** Declares a job. The type of its runtime follows from its needs. */
export const job = <const N extends Need>(definition: Job<N>): Job<N> => definition
