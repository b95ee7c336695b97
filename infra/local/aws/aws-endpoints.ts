import type { IncomingHttpHeaders } from 'node:http'
import * as v from 'valibot'
import { type Answer, type HttpServer, type LocalReply, json, startHttpServer } from '#infra/local/http-server.ts'

export const AWS_REGION = 'us-east-1'
export const AWS_ACCOUNT = '000000000000'

/** A failure as an AWS service words it; `type` is what the SDK makes the error's name. */
export class AwsError extends Error {
  readonly type: string
  readonly status: number

  constructor(type: string, message: string, status = 400) {
    super(message)
    this.type = type
    this.status = status
  }
}

/** What a caller wants to do, in IAM's words. `caller` is the access key id of its credentials. */
export interface AwsCall {
  readonly principal: string
  readonly action: string
  readonly resource: string
  /** The condition keys of this call, such as `kms:EncryptionContext:purpose`. */
  readonly context: Readonly<Record<string, string>>
}

/** Throws AwsError for a call that the caller's policies do not allow. */
export type Authorize = (call: AwsCall) => void

/** Asks whether the caller of a request may do something, and throws when not. */
export type Ask = (action: string, resource: string, context?: AwsCall['context']) => void

/** `Ask` for one request. Without `authorize` everybody may do everything. */
export const asking = (authorize: Authorize | undefined, headers: IncomingHttpHeaders): Ask => {
  const [, principal = ''] = /Credential=([^/]+)\//.exec(headers.authorization ?? '') ?? []
  return (action, resource, context = {}) => authorize?.({ principal, action, resource, context })
}

/** One operation: given the parsed JSON input, resolves to the output. Throws AwsError. */
export type AwsOperation = (input: unknown, ask: Ask) => object | Promise<object>

/** Parses an operation's input, or throws the ValidationException that names the wrong field. */
export function parseInput<Schema extends v.GenericSchema>(schema: Schema, input: unknown): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, input)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new AwsError('ValidationException', `${v.getDotPath(issue) ?? 'input'}: ${issue.message}`)
}

/** The reply that says `error` in the way of both JSON protocols: the type in the body and in a header. */
export function awsFailure(error: AwsError): LocalReply {
  return json(error.status, { __type: error.type, message: error.message }, { 'x-amzn-errortype': error.type })
}

/** Turns a thrown AwsError, or a body that is not JSON, into the reply that the SDK understands. */
export const withAwsFailures =
  (answer: Answer): Answer =>
  async (request) => {
    try {
      return await answer(request)
    } catch (error) {
      if (error instanceof AwsError) return awsFailure(error)
      if (error instanceof SyntaxError)
        return awsFailure(new AwsError('SerializationException', 'The body is not JSON'))
      throw error
    }
  }

/**
 * Serves one service of the AWS JSON 1.1 protocol: `POST /` with the operation in `X-Amz-Target: {service}.{name}`.
 * Signatures are not checked.
 */
export const startAwsJson = (options: {
  readonly service: string
  readonly operations: ReadonlyMap<string, AwsOperation>
  readonly authorize?: Authorize | undefined
  readonly port?: number
  readonly meet?: () => Promise<'go' | 'refuse'>
}): Promise<HttpServer> =>
  startHttpServer({
    port: options.port,
    meet: options.meet,
    answer: withAwsFailures(async ({ headers, body }) => {
      const [service, name = ''] = String(headers['x-amz-target'] ?? '').split('.')
      const operation = service === options.service ? options.operations.get(name) : undefined
      if (operation === undefined) throw new AwsError('UnknownOperationException', `No local operation ${name}`)
      const output = await operation(JSON.parse(body.toString() || '{}'), asking(options.authorize, headers))
      return json(200, output, { 'content-type': 'application/x-amz-json-1.1' })
    }),
  })
