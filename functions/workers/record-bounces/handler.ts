import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { worker } from './worker.ts'
import { recordBounces } from './record-bounces.ts'

const runtime = openRuntime(worker)

/** Invoked by the queue of the events that SES publishes. Only SES may publish them. */
export const handler = metered(
  async (event: SQSEvent): Promise<SQSBatchResponse> => recordBounces(await runtime.open(), event),
)
