import { type EventBridgeClient, PutEventsCommand, type PutEventsResultEntry } from '@aws-sdk/client-eventbridge'
import { eventOf } from '#shared/audit/event.ts'
import { describeError, log } from '#shared/log.ts'
import { countMetric } from '#shared/metrics.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import type { Runtime } from './job.ts'
import { claimEvents, endLeases, type LeasedEvent, type Outcome } from './queries.ts'

const SOURCE = 'tenantry'
// PutEvents takes no more.
const EVENTS_PER_CALL = 10
const CONCURRENT_CALLS = 5
const CALL_TIMEOUT_MS = 5000
// Longer than one round of calls.
const LEASE_SECONDS = 30
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html: these entries would fail again.
const FINAL = new Set(['InvalidArgument', 'MalformedDetail', 'RedactionFailure'])

/**
 * Publishes the due events until none is left, EventBridge takes none or `shouldStop` returns true. Returns how many it published.
 * Each is published at least once: when a publisher dies after a call, the next one repeats it with the same id. An event that
 * fails is tried again after a backoff, for as long as it takes. Only one that can never succeed is dead-lettered.
 */
export async function publishDueEvents(
  { config, database }: Runtime,
  eventBridge: EventBridgeClient,
  shouldStop: () => boolean,
): Promise<number> {
  let published = 0
  while (!shouldStop()) {
    const events = await claimEvents(database.sql, CONCURRENT_CALLS * EVENTS_PER_CALL, LEASE_SECONDS)
    const [first] = events
    if (first === undefined) break
    const calls = Array.from({ length: Math.ceil(events.length / EVENTS_PER_CALL) }, (_, call) =>
      put(eventBridge, config.events.bus, events.slice(call * EVENTS_PER_CALL, (call + 1) * EVENTS_PER_CALL)),
    )
    const outcomes = (await Promise.all(calls)).flat()
    await endLeases(database.sql, first.lease_token, outcomes)
    const taken = outcomes.filter(({ error }) => error === null).length
    published += taken
    if (taken === 0) break
  }
  return published
}

/** Sends events in one call. Never rejects. */
async function put(eventBridge: EventBridgeClient, bus: string, events: readonly LeasedEvent[]): Promise<Outcome[]> {
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
    return events.map((event, index) => outcomeOf(event, Entries[index] ?? {}))
  } catch (error) {
    log.error('EventBridge failed or refused a call; its events will be sent again', {
      events: events.length,
      event_id: events[0]?.id,
      error: describeError(error),
    })
    return events.map((event) => failed(event, error instanceof Error ? error.name : 'unknown', false))
  }
}

/** The response has one entry for each event, in order: with an EventId if the bus has the event, else with an error. */
function outcomeOf(event: LeasedEvent, { EventId, ErrorCode, ErrorMessage }: PutEventsResultEntry): Outcome {
  const { xact, id } = event
  if (EventId !== undefined) return { xact, id, error: null, delay: null }
  const code = ErrorCode ?? 'unknown'
  const final = FINAL.has(code)
  log.error(final ? 'EventBridge refused an event, which was dead-lettered' : 'an event will be sent again', {
    event_id: id,
    attempts: event.attempts,
    error: code,
    reason: ErrorMessage,
  })
  return failed(event, code, final)
}

function failed({ xact, id, attempts }: LeasedEvent, error: string, final: boolean): Outcome {
  countMetric(final ? 'JobDead' : 'JobFailed', 'event')
  return { xact, id, error, delay: final ? null : backoffSeconds(attempts) }
}
