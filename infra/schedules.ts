/** How often a job is run whether it was woken or not, and how long it may take. */
export interface Schedule {
  readonly everySeconds: number
  readonly timeoutSeconds: number
}

/** By the job's name. A job without a schedule is only invoked. */
export const SCHEDULES: Readonly<Record<string, Schedule>> = {
  'deliver-mail': { everySeconds: 60, timeoutSeconds: 60 },
  maintain: { everySeconds: 3600, timeoutSeconds: 120 },
}

export const DEFAULT_TIMEOUT_SECONDS = 60
