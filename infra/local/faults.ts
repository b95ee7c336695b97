import * as v from 'valibot'

const PARTS = ['cache', 'kms', 'ses', 'vendor', 'postgres'] as const

export type Part = (typeof PARTS)[number]

const FaultInput = v.strictObject({
  part: v.picklist(PARTS, `must be one of ${PARTS.join(', ')}`),
  mode: v.picklist(['ok', 'refuse', 'hang', 'slow'], 'must be one of ok, refuse, hang, slow'),
  ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000)), 1000),
  share: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
})

/** What a part does to the calls it gets: `ms` is how long 'slow' waits, `share` how many of the calls are met, 0 to 1. */
export type Fault = Readonly<v.InferOutput<typeof FaultInput>>

/** A fault that does not parse; the message names each field that is wrong. */
export class FaultError extends Error {
  override name = 'FaultError'
}

export interface Faults {
  /**
   * Sets what a part does; calls that hang there are let go, refused. Resolves when the part does so. Rejects with
   * FaultError on bad input.
   */
  set(input: unknown): Promise<Fault>
  current(part: Part): Fault
  /** How many calls each part received. */
  counts(): Record<Part, number>
  /** Takes a part's count from `read`, for a part that counts its calls itself. */
  countFrom(part: Part, read: () => number): void
  /** Counts one call and holds it as long as the part's fault says. It never hangs past the fault, nor past `close`. */
  meet(part: Part): Promise<'go' | 'refuse'>
  /** The mode that one call meets now: the part's, or 'ok' for a call outside `share`. Counts nothing. */
  draw(part: Part): Fault['mode']
  /** Calls `listener` at every `set`, which waits for it; returns how to stop that. */
  onChange(listener: (fault: Fault) => void | Promise<void>): () => void
  /** Lets go of every held call, refused. */
  close(): void
}

const healthy = (part: Part): Fault => ({ part, mode: 'ok', ms: 1000, share: 1 })

const byPart = <T>(value: (part: Part) => T): Record<Part, T> => ({
  cache: value('cache'),
  kms: value('kms'),
  ses: value('ses'),
  vendor: value('vendor'),
  postgres: value('postgres'),
})

/** The switchboard of faults, all 'ok' at first. `random` decides which calls a `share` below 1 meets. */
export function createFaults(options: { readonly random?: () => number } = {}): Faults {
  const random = options.random ?? Math.random
  const current = byPart(healthy)
  const received = byPart(() => 0)
  const counters = byPart((part) => () => received[part])
  const hanging = byPart(() => new Set<() => void>())
  const waiting = new Set<() => void>()
  const listeners = new Set<(fault: Fault) => void | Promise<void>>()

  const letGo = (held: Set<() => void>) => {
    for (const refuse of held) refuse()
    held.clear()
  }

  const draw = (part: Part) => {
    const { mode, share } = current[part]
    return mode === 'ok' || share === 1 || random() < share ? mode : 'ok'
  }

  const wait = (ms: number): Promise<'go' | 'refuse'> =>
    new Promise((resolve) => {
      const refuse = () => {
        clearTimeout(timer)
        resolve('refuse')
      }
      const timer = setTimeout(() => {
        waiting.delete(refuse)
        resolve('go')
      }, ms)
      waiting.add(refuse)
    })

  return {
    set: async (input) => {
      const fault = parseFault(input)
      current[fault.part] = fault
      if (fault.mode !== 'hang') letGo(hanging[fault.part])
      await Promise.all(Array.from(listeners, async (listener) => listener(fault)))
      return fault
    },
    current: (part) => current[part],
    counts: () => byPart((part) => counters[part]()),
    countFrom: (part, read) => {
      counters[part] = read
    },
    meet: async (part) => {
      received[part] += 1
      const mode = draw(part)
      if (mode === 'slow') return wait(current[part].ms)
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
        letGo(hanging[part])
      }
      letGo(waiting)
    },
  }
}

function parseFault(input: unknown): Fault {
  const parsed = v.safeParse(FaultInput, input)
  if (parsed.success) return parsed.output
  const wrong = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'the fault'}: ${issue.message}`)
  throw new FaultError(wrong.join('; '))
}
