import type { STAGES } from '#infra/stages.ts'

/** What a stage is used for. The bill follows from it and from the stage's template. */
export interface Load {
  readonly name: string
  readonly stage: keyof typeof STAGES
  readonly says: string
  /** The aim of the bill, in USD a month. */
  readonly aim: number
  /** Requests that arrive at the gateway, all month long. */
  readonly requestsPerSecond: number
  readonly writesPerSecond: number
  readonly storedGb: number
  readonly mailsPerMonth: number
  /** Series of our own metrics that are written. */
  readonly metrics: number
}

export const LOADS: readonly Load[] = [
  {
    name: 'idle dev',
    stage: 'dev',
    says: 'the workers and the probe',
    aim: 90,
    requestsPerSecond: 0.1,
    writesPerSecond: 0.1,
    storedGb: 1,
    mailsPerMonth: 100,
    metrics: 26,
  },
  {
    name: 'small prod',
    stage: 'prod',
    says: '100 tenants, 2,000 users, 5 requests a second',
    aim: 450,
    requestsPerSecond: 5,
    writesPerSecond: 0.1,
    storedGb: 4,
    mailsPerMonth: 5000,
    metrics: 60,
  },
  {
    name: 'big prod',
    stage: 'prod',
    says: '10,000 tenants, a million users, 1,000 requests a second',
    aim: 11_500,
    requestsPerSecond: 1000,
    writesPerSecond: 20,
    storedGb: 350,
    mailsPerMonth: 1_000_000,
    metrics: 60,
  },
]

/**
 * What one request is, for each load. The figures of the database and the mix are those of infra/scale.md. The sizes are those of
 * the access log's format, and of the answers of a local stack as the gateway compresses them.
 */
export const REQUEST = {
  /** The share that opens a page, and the calls of one. */
  pages: 1 / 3,
  callsOfAPage: 2,
  /** The share of calls that `auth` answers, whose function has more memory. */
  sessionChecks: 2 / 3,
  signIns: 1 / 500,
  /** Aurora capacity units for a request a second: 0.5 ms of Postgres at half use, four units a vCPU. */
  acu: 0.004,
  callSeconds: 0.01,
  pageSeconds: 0.04,
  signInSeconds: 0.1,
  logKb: 0.4,
  answerKb: 3,
  /** Through NAT: secrets, keys, the cache, invocations after a commit. */
  natKb: 0.1,
  ioPerWrite: 10,
} as const
