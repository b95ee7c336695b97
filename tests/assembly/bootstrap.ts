// Lambda's runtime in an instance: imports the bundle's handler, then handles one invocation after the other.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
import { Socket } from 'node:net'
import { pathToFileURL } from 'node:url'

// As Lambda's runtime: an import of node:http would load what an empty function does not have.
const { Agent, request } = process.getBuiltinModule('node:http')
const { AWS_LAMBDA_RUNTIME_API: api = '', LAMBDA_TASK_ROOT = '', _HANDLER = '', ...environment } = process.env

// A security group drops what it does not let out. `ports` has the real port of a local address.
const egress: { allowed: number[]; ports: Record<string, number> } = JSON.parse(environment['EGRESS'] ?? 'null') ?? {
  allowed: [],
  ports: {},
}
const connect: (this: Socket, ...args: any[]) => Socket = Reflect.get(Socket.prototype, 'connect')
Socket.prototype.connect = function (this: Socket, ...args: any[]): Socket {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0]
  const port = egress.ports[`${options?.host}:${options?.port}`]
  if (port === undefined || egress.allowed.includes(port)) return connect.apply(this, args)
  const message = `no security group of ${environment['AWS_LAMBDA_FUNCTION_NAME']} lets it connect to port ${port}`
  console.error(JSON.stringify({ level: 'ERROR', message }))
  return this.destroy(new Error(message))
}
const agent = new Agent({ keepAlive: true })

type Reply = { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }

const call = (method: string, path: string, body = ''): Promise<Reply> =>
  new Promise((resolve, reject) => {
    // Not part of Lambda's API. The tests compare the CPU time of starts, which depends less on load than their duration.
    const headers = { 'x-cpu-ms': String(startCpuMs) }
    const sent = request(`http://${api}/2018-06-01/runtime/${path}`, { method, agent, headers }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => resolve({ headers: reply.headers, body: Buffer.concat(chunks).toString() }))
    })
    sent.on('error', reject)
    sent.end(body)
  })

const described = (error: unknown): string =>
  JSON.stringify({
    errorType: error instanceof Error ? error.name : typeof error,
    errorMessage: error instanceof Error ? error.message : String(error),
  })

const [file = '', name = ''] = _HANDLER.split('.')
// The CPU time of loading the handler.
let startCpuMs = 0
let handler: (event: unknown, context: object) => Promise<unknown>
try {
  const before = process.cpuUsage()
  const module = await import(pathToFileURL(`${LAMBDA_TASK_ROOT}/${file}.js`).href)
  const { user, system } = process.cpuUsage(before)
  startCpuMs = (user + system) / 1000
  handler = module[name] ?? module.default?.[name]
  if (typeof handler !== 'function') throw new Error(`${_HANDLER} is not a function`)
  // https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html: Node.js 24 refuses a handler with a callback.
  if (handler.length > 2) throw new Error(`${_HANDLER} takes a callback`)
} catch (error) {
  await call('POST', 'init/error', described(error))
  process.exit(1)
}

for (;;) {
  const { headers, body } = await call('GET', 'invocation/next')
  const id = String(headers['lambda-runtime-aws-request-id'])
  const deadline = Number(headers['lambda-runtime-deadline-ms'])
  const context = {
    awsRequestId: id,
    callbackWaitsForEmptyEventLoop: true,
    functionName: environment['AWS_LAMBDA_FUNCTION_NAME'],
    functionVersion: environment['AWS_LAMBDA_FUNCTION_VERSION'],
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    memoryLimitInMB: environment['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'],
    logGroupName: environment['AWS_LAMBDA_LOG_GROUP_NAME'],
    logStreamName: environment['AWS_LAMBDA_LOG_STREAM_NAME'],
    getRemainingTimeInMillis: () => deadline - Date.now(),
  }
  try {
    const result = await handler(JSON.parse(body), context)
    await call('POST', `invocation/${id}/response`, JSON.stringify(result ?? null))
  } catch (error) {
    await call('POST', `invocation/${id}/error`, described(error))
  }
}
