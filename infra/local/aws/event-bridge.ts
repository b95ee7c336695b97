import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import { AWS_ACCOUNT, AWS_REGION, AwsError, type Authorize, parseInput, startAwsJson } from './aws-endpoints.ts'

// Limits: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
const MAX_ENTRIES = 10
const MAX_BYTES = 256 * 1024
const KEPT = 10_000

const Entry = v.object({
  EventBusName: v.string(),
  Source: v.optional(v.string(), ''),
  DetailType: v.optional(v.string(), ''),
  Detail: v.optional(v.string(), ''),
  Time: v.optional(v.number()),
})
const PutEventsInput = v.object({ Entries: v.pipe(v.array(Entry), v.minLength(1), v.maxLength(MAX_ENTRIES)) })

type Entry = v.InferOutput<typeof Entry>

/** An event as the bus delivers it to its rules. */
export interface ReceivedEvent {
  readonly id: string
  readonly 'detail-type': string
  readonly source: string
  readonly time: string
  readonly detail: object
}

export interface EventBridge extends HttpServer {
  /** Where `GET /events?detail-type=ACTION` returns the received events, newest first. */
  readonly receivedUrl: string
  /** Returns the received events, oldest first: the last ten thousand. */
  received(): readonly ReceivedEvent[]
}

/** Returns the ARN of an event bus. */
export const busArn = (name: string): string => `arn:aws:events:${AWS_REGION}:${AWS_ACCOUNT}:event-bus/${name}`

/**
 * Serves PutEvents of EventBridge for the unmodified SDK client, for one bus without rules, and the events that it received.
 * The fault 'throttle' refuses whole calls, 'partial' single events.
 */
export async function startEventBridge(options: {
  readonly bus: string
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize | undefined
}): Promise<EventBridge> {
  const { bus, faults, port, authorize } = options
  const events: ReceivedEvent[] = []
  const server = await startAwsJson({
    service: 'AWSEvents',
    port,
    authorize,
    meet: faults && (() => faults.meet('eventbridge')),
    operations: new Map([
      [
        'PutEvents',
        (input, ask) => {
          const { Entries } = parseInput(PutEventsInput, input)
          for (const { EventBusName, Source, DetailType } of Entries)
            ask('events:PutEvents', busArn(EventBusName), { 'events:source': Source, 'events:detail-type': DetailType })
          if (Entries.some(({ EventBusName }) => EventBusName !== bus))
            throw new AwsError('ResourceNotFoundException', 'The event bus does not exist.')
          if (Buffer.byteLength(JSON.stringify(Entries)) > MAX_BYTES)
            throw new AwsError('ValidationException', 'Total size of the entries in the request is over the limit.')
          if (faults?.draw('eventbridge') === 'throttle') throw new AwsError('ThrottlingException', 'Rate exceeded')
          const results = Entries.map((entry) => {
            const event = faults?.draw('eventbridge') === 'partial' ? 'InternalFailure' : receive(entry)
            if (typeof event === 'string') return { ErrorCode: event, ErrorMessage: 'The local bus refused the event' }
            events.push(event)
            if (events.length > KEPT) events.shift()
            return { EventId: event.id }
          })
          return { FailedEntryCount: results.filter((result) => 'ErrorCode' in result).length, Entries: results }
        },
      ],
    ]),
  })
  const reader = await startHttpServer({
    answer: ({ method, url }) => {
      if (method !== 'GET' || url.pathname !== '/events') return json(404, { error: 'Use GET /events' })
      const wanted = url.searchParams.get('detail-type')
      const found = events.filter((event) => wanted === null || event['detail-type'] === wanted)
      return json(200, { data: found.toReversed() })
    },
  })
  return {
    ...server,
    receivedUrl: `${reader.url}/events`,
    received: () => events,
    close: async () => {
      await reader.close()
      await server.close()
    },
  }
}

/** Returns the event, or the error code of an entry that EventBridge would refuse. */
function receive({ Source, DetailType, Detail, Time }: Entry): ReceivedEvent | 'InvalidArgument' | 'MalformedDetail' {
  if (Source === '' || DetailType === '' || DetailType.length > 128) return 'InvalidArgument'
  const detail = parsed(Detail)
  if (detail === null) return 'MalformedDetail'
  const time = new Date(Time === undefined ? Date.now() : Time * 1000).toISOString()
  return { id: randomUUID(), 'detail-type': DetailType, source: Source, time, detail }
}

function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
