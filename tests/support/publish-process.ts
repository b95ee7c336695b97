// Publishes due events in its own process, like an instance of the Lambda, until a test kills it. Says when it begins.
import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { publishDueEvents } from '#functions/workers/publish-events/publish.ts'
import { parseConfig } from '#shared/base/config.ts'
import { connectTo } from './access.ts'

const { publisherUrl, eventBridgeUrl, bus } = JSON.parse(process.env['PUBLISH_WORK'] ?? '')
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
const client = new EventBridgeClient({ endpoint: eventBridgeUrl, region: 'us-east-1', credentials, maxAttempts: 1 })
const config = parseConfig({ DATABASE_TLS: 'disable', EVENT_BUS_NAME: bus })
const database = connectTo(publisherUrl)
process.send?.('begun')
for (;;) await publishDueEvents({ config, database }, client, () => false)
