import { appendFileSync, readFileSync } from 'node:fs'
import type { Kind } from './kinds.ts'

/** A request, written before it is sent. */
export interface Sent {
  readonly what: 'sent'
  /** The marker of the request. It is in what the request writes, and in its audit entries as the client's request id. */
  readonly id: string
  readonly at: number
  readonly kind: Kind
  readonly tenant: number
  readonly scenario: string
  /** What the request changes, if its marker does not name it: the id of a row, or an address. */
  readonly target?: string
  /** The first attempt of which this one is a repetition. */
  readonly repeats?: string
  /** The session that it uses: its id, or the name of one of its tokens. */
  readonly session?: string
  /** The sessions and the tokens that are over once it is done. */
  readonly ends?: readonly string[]
  /** The name of the code that it proves a second factor by, which is not the code. */
  readonly proof?: string
}

/** A response, or its absence. */
export interface Responded {
  readonly what: 'response'
  readonly id: string
  readonly at: number
  /** Null without a response. */
  readonly status: number | null
  /** What the response holds of other tenants. */
  readonly foreign: readonly string[]
  /** The response to a write, or the error without a response. */
  readonly text?: string
}

/** When the fault of a scenario begins, and when the part is back. */
export interface Mark {
  readonly what: 'mark'
  readonly scenario: string
  readonly phase: 'begins' | 'returned'
  readonly at: number
}

/** The memory of the stack. */
export interface Sample {
  readonly what: 'memory'
  readonly at: number
  readonly rssBytes: number
  /** The mean heap of its instances. */
  readonly heapBytes: number
  readonly instances: number
}

export type Line = Sent | Responded | Mark | Sample

/** No part of the stack works on a request for longer, also when nobody waits for the response. */
export const SETTLED_MS = 20_000

/** Milliseconds since the epoch, which no change of the clock moves. */
export const now = (): number => performance.timeOrigin + performance.now()

export interface Ledger {
  readonly file: string
  /** Appends a line. It is with the operating system when this returns, so that a kill of this process loses none. */
  write(line: Line): void
}

export const openLedger = (file: string): Ledger => ({
  file,
  write: (line) => appendFileSync(file, `${JSON.stringify(line)}\n`),
})

export const readLedger = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
