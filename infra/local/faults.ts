import * as v from 'valibot'

const PARTS = ['cache', 'kms', 'secretsmanager', 'ses', 'eventbridge', 'vendor', 'postgres', 'instance'] as const

export type Part = (typeof PARTS)[number]

const MODES = ['ok', 'refuse', 'hang', 'slow', 'garble', 'throttle', 'partial', 'kill'] as const

const FaultInput = v.pipe(
  v.strictObject({
    part: v.picklist(PARTS, `must be one of ${PARTS.join(', ')}`),
    mode: v.picklist(MODES, `must be one of ${MODES.join(', ')}`),
    ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000)), 1000),
    share: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
  }),
  v.check(({ part, mode }) => mode !== 'garble' || part === 'vendor', 'garble is a mode of the vendor only'),
  v.check(
    ({ part, mode }) => (mode !== 'throttle' && mode !== 'partial') || part === 'eventbridge',
    'throttle and partial are modes of eventbridge only',
  ),
  v.check(
    ({ part, mode }) => mode === 'ok' || (part === 'instance') === (mode === 'kill'),
    'kill is the mode of instance, and its only one',
  ),
)

/**
 * How a part treats calls: `ms` is the delay of 'slow', `share` the fraction of calls affected, 0 to 1. 'garble' cuts the
 * responses of the vendors in half. 'throttle' refuses calls of EventBridge, 'partial' single events of a call. 'kill' ends the
 * instance of a function in the middle of an invocation, after at most `ms`.
 */
export type Fault = Readonly<v.InferOutput<typeof FaultInput>>

/** A fault that does not parse. The message names each wrong field. */
export class FaultError extends Error {
  override name = 'FaultError'
}

export interface Faults {
  /**
   * Sets a part's fault. Refuses the calls that hang there, unless the part still hangs. Resolves when the part behaves so.
   * Throws FaultError for input that does not parse.
   */
  set(input: unknown): Promise<Fault>
  current(part: Part): Fault
  /** Returns each part's fault. */
  all(): Record<Part, Fault>
  /** Returns how many calls each part received. */
  counts(): Record<Part, number>
  count(part: Part, calls: number): void
  /** Counts one call and delays it as the part's fault says. It waits no longer than the fault, nor after `close`. */
  meet(part: Part): Promise<'go' | 'refuse'>
  /** Returns the mode for one call: the part's mode, or 'ok' for a call outside `share`. Counts nothing. */
  draw(part: Part): Fault['mode']
  /** Calls `listener` on every `set`. Returns a function that removes it. */
  onChange(listener: (fault: Fault) => void): () => void
  /** Refuses every waiting call and ends all faults. */
  close(): void
}

const healthy = (part: Part): Fault => ({ part, mode: 'ok', ms: 1000, share: 1 })

const byPart = <T>(value: (part: Part) => T): Record<Part, T> => ({
  cache: value('cache'),
  kms: value('kms'),
  secretsmanager: value('secretsmanager'),
  ses: value('ses'),
  eventbridge: value('eventbridge'),
  vendor: value('vendor'),
  postgres: value('postgres'),
  instance: value('instance'),
})

/** Creates the switchboard of faults. All parts start 'ok'. `random` decides which calls a `share` below 1 affects. */
export function createFaults(options: { readonly random?: () => number } = {}): Faults {
  const random = options.random ?? Math.random
  const current = byPart(healthy)
  const received = byPart(() => 0)
  const hanging = byPart(() => new Set<() => void>())
  const delayed = new Set<() => void>()
  const listeners = new Set<(fault: Fault) => void>()

  const refuseAll = (calls: Set<() => void>) => {
    for (const refuse of calls) refuse()
    calls.clear()
  }

  const draw = (part: Part) => {
    const { mode, share } = current[part]
    return mode === 'ok' || share === 1 || random() < share ? mode : 'ok'
  }

  const delay = (ms: number): Promise<'go' | 'refuse'> =>
    new Promise((resolve) => {
      const refuse = () => {
        clearTimeout(timer)
        resolve('refuse')
      }
      const timer = setTimeout(() => {
        delayed.delete(refuse)
        resolve('go')
      }, ms)
      delayed.add(refuse)
    })

  const count = (part: Part, calls: number) => {
    received[part] += calls
  }

  return {
    set: async (input) => {
      const fault = parseFault(input)
      current[fault.part] = fault
      if (fault.mode !== 'hang') refuseAll(hanging[fault.part])
      for (const listener of listeners) listener(fault)
      return fault
    },
    current: (part) => current[part],
    all: () => ({ ...current }),
    counts: () => ({ ...received }),
    count,
    meet: async (part) => {
      count(part, 1)
      const mode = draw(part)
      if (mode === 'slow') return delay(current[part].ms)
      if (mode === 'hang') return new Promise((resolve) => hanging[part].add(() => resolve('refuse')))
      return mode === 'refuse' ? 'refuse' : 'go'
    },
    draw,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => {
      for (const part of PARTS) {
        current[part] = healthy(part)
        refuseAll(hanging[part])
      }
      refuseAll(delayed)
    },
  }
}

function parseFault(input: unknown): Fault {
  const parsed = v.safeParse(FaultInput, input)
  if (parsed.success) return parsed.output
  const wrong = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'the fault'}: ${issue.message}`)
  throw new FaultError(wrong.join('; '))
}
