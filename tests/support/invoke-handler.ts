// Invokes a job's Lambda once, in its own process, for tests that kill it. Its only message is what the handler returns, and how
// many milliseconds were left before the timeout.
import { lambdaContext } from './lambda-context.ts'

const { HANDLER_FILE = '', TIMEOUT_MS } = process.env
const { handler }: { handler: (event: unknown, context: object) => Promise<object> } = await import(HANDLER_FILE)
const deadline = Date.now() + Number(TIMEOUT_MS)
const result = await handler({}, { ...lambdaContext, getRemainingTimeInMillis: () => deadline - Date.now() })
process.send?.({ ...result, leftMs: deadline - Date.now() }, () => process.exit(0))
