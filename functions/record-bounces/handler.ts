import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { metered } from '#shared/metrics.ts'
import { openRuntime } from '#shared/runtime.ts'
import { job } from './job.ts'
import { recordBounces } from './record-bounces.ts'

const runtime = openRuntime(job)

/** Invoked by the queue of the events that SES publishes. Only SES may publish them. */
export const handler = metered(
  async (event: SQSEvent): Promise<SQSBatchResponse> => recordBounces(await runtime.open(), event),
)
