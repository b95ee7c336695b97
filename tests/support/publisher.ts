import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { publishDueEvents } from '#functions/workers/publish-events/publish.ts'
import { type EventBridge, startEventBridge } from '#infra/local/aws/event-bridge.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import { parseConfig } from '#shared/base/config.ts'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from './access.ts'
import type { TestDatabase } from './database.ts'

/** The publisher of a database, which runs when a test calls `publish`, with a local EventBridge. */
export interface TestPublisher {
  readonly eventBridge: EventBridge
  readonly faults: Faults
  readonly database: Database
  /** Publishes the events that are due, as a publisher with another database if one is given. */
  publish(database?: Database): Promise<number>
  /** Makes every event due, and ends the leases of publishers that died. */
  later(): Promise<void>
  close(): Promise<void>
}

export const BUS = 'tenantry-test'

export async function startPublisher({ admin, urls }: Pick<TestDatabase, 'admin' | 'urls'>): Promise<TestPublisher> {
  const faults = createFaults()
  const eventBridge = await startEventBridge({ bus: BUS, faults })
  const client = new EventBridgeClient({
    endpoint: eventBridge.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  })
  const own = connectTo(urls.publisher, { connections: 4, prepare: true })
  const config = parseConfig({ DATABASE_TLS: 'disable', EVENT_BUS_NAME: BUS })
  return {
    eventBridge,
    faults,
    database: own,
    publish: (database = own) => publishDueEvents({ config, database }, client, () => false),
    later: async () => {
      await admin`update app.jobs set run_at = now(), leased_until = case when leased_until is not null then now() - interval '1 second' end
                   where kind = 'event' and completed_at is null and dead_at is null`
    },
    close: async () => {
      faults.close()
      client.destroy()
      await eventBridge.close()
      await own.close()
    },
  }
}
