import { type EventBridgeClient, PutEventsCommand, type PutEventsResultEntry } from '@aws-sdk/client-eventbridge'
import { type EventRow, eventOf } from '#shared/audit/event.ts'
import { describeError, log } from '#shared/base/log.ts'
import { drain } from '#shared/queue/drain.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import type { Runtime } from './worker.ts'
import { enqueueEvents, keepEvents, readEvents } from './queries.ts'

const SOURCE = 'tenantry'
// PutEvents takes no more.
const EVENTS_PER_CALL = 10
const CALL_TIMEOUT_MS = 5000
// Longer than the calls of one job, which are concurrent.
const LEASE_SECONDS = 30
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html: these entries would fail again.
const FINAL = new Set(['InvalidArgument', 'MalformedDetail', 'RedactionFailure'])

/** EventBridge did not take these events of a job. The name is the error of the first. */
class NotTaken extends Error {
  readonly isFinal: boolean

  constructor(failures: readonly Failure[]) {
    super(`EventBridge did not take ${failures.length} events of a job`)
    this.name = failures[0]?.error ?? 'unknown'
    this.isFinal = failures.every(({ error }) => FINAL.has(error))
  }
}

/**
 * Publishes the due events until none is left, EventBridge takes none or `shouldStop` returns true. Returns how many it published.
 * Each is published at least once: when a publisher dies after a call, the next one repeats it with the same id. An event that
 * fails is tried again after a backoff, for as long as it takes. A job whose every event can never succeed is dead-lettered.
 */
export async function publishDueEvents(
  { config, database }: Runtime,
  eventBridge: EventBridgeClient,
  shouldStop: () => boolean,
): Promise<number> {
  const { sql } = database
  let published = 0
  let takesNone = false

  const run = async (job: LeasedJob): Promise<boolean> => {
    const events = await readEvents(sql, job)
    const calls = Array.from({ length: Math.ceil(events.length / EVENTS_PER_CALL) }, (_, call) =>
      put(eventBridge, config.events.bus, events.slice(call * EVENTS_PER_CALL, (call + 1) * EVENTS_PER_CALL)),
    )
    const failures = (await Promise.all(calls)).flat()
    const taken = events.length - failures.length
    published += taken
    if (failures.length === 0) return true
    if (taken > 0) {
      const ids = failures.map(({ id }) => id)
      await keepEvents(sql, job, ids)
    }
    const failed = new NotTaken(failures)
    takesNone = taken === 0 && !failed.isFinal
    throw failed
  }

  await drain(
    database,
    {
      kind: 'event',
      prepare: () => enqueueEvents(sql),
      // So that the older events are sent first.
      concurrency: 1,
      leaseSeconds: LEASE_SECONDS,
      attempts: null,
      run,
      isFinal: (error) => error instanceof NotTaken && error.isFinal,
    },
    () => takesNone || shouldStop(),
  )
  return published
}

/** An event that EventBridge did not take. */
interface Failure {
  readonly id: string
  readonly error: string
}

/** Sends events in one call. Returns those that were not taken. Never rejects. */
async function put(eventBridge: EventBridgeClient, bus: string, events: readonly EventRow[]): Promise<Failure[]> {
  const command = new PutEventsCommand({
    Entries: events.map((event) => ({
      EventBusName: bus,
      Source: SOURCE,
      DetailType: event.action,
      Time: new Date(event.occurred_at),
      Detail: JSON.stringify(eventOf(event)),
    })),
  })
  try {
    const { Entries = [] } = await eventBridge.send(command, { abortSignal: AbortSignal.timeout(CALL_TIMEOUT_MS) })
    return events.flatMap(({ id }, index) => failureOf(id, Entries[index] ?? {}) ?? [])
  } catch (error) {
    log.error('EventBridge failed or refused a call; its events will be sent again', {
      events: events.length,
      event_id: events[0]?.id,
      error: describeError(error),
    })
    return events.map(({ id }) => ({ id, error: error instanceof Error ? error.name : 'unknown' }))
  }
}

/** The response has one entry for each event, in order: with an EventId if the bus has the event, else with an error. */
function failureOf(id: string, { EventId, ErrorCode, ErrorMessage }: PutEventsResultEntry): Failure | null {
  if (EventId !== undefined) return null
  const error = ErrorCode ?? 'unknown'
  const message = FINAL.has(error) ? 'EventBridge would refuse an event again' : 'an event will be sent again'
  log.error(message, { event_id: id, error, reason: ErrorMessage })
  return { id, error }
}
