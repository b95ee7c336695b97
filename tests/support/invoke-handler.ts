// One invocation of a job's Lambda in a process of its own, with nothing of the test's but its environment: for tests that
// kill it. Its one message is what the handler returned.
import { lambdaContext } from './lambda-context.ts'

const { HANDLER_FILE = '', TIMEOUT_MS } = process.env
const { handler }: { handler: (event: unknown, context: object) => Promise<object> } = await import(HANDLER_FILE)
const deadline = Date.now() + Number(TIMEOUT_MS)
const result = await handler({}, { ...lambdaContext, getRemainingTimeInMillis: () => deadline - Date.now() })
process.send?.(result, () => process.exit(0))
