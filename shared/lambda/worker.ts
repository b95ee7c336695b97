import type { Need } from '#shared/base/needs.ts'

/** A worker: a Lambda without routes, as data. Schedules and grants are derived from it. */
export interface Worker<N extends Need = Need> {
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

/** Declares a worker. The type of its runtime follows from its needs. */
export const defineWorker = <const N extends Need>(definition: Worker<N>): Worker<N> => definition
