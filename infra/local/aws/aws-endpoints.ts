import type { IncomingHttpHeaders } from 'node:http'
import * as v from 'valibot'
import { type Answer, type HttpServer, type LocalReply, json, startHttpServer } from '#infra/local/http-server.ts'

export const AWS_REGION = 'us-east-1'
export const AWS_ACCOUNT = '000000000000'

/** A failure of an AWS service. The SDK uses `type` as the error's name. */
export class AwsError extends Error {
  readonly type: string
  readonly status: number

  constructor(type: string, message: string, status = 400) {
    super(message)
    this.type = type
    this.status = status
  }
}

/** A call in IAM's terms. `principal` is the access key id of the caller's credentials. */
export interface AwsCall {
  readonly principal: string
  readonly action: string
  readonly resource: string
  /** The condition keys of this call, such as `kms:EncryptionContext:purpose`. */
  readonly context: Readonly<Record<string, string>>
}

/** Throws AwsError for a call that the principal's policies do not allow. */
export type Authorize = (call: AwsCall) => void

/** Throws AwsError if the caller of the request may not perform the action. */
export type Ask = (action: string, resource: string, context?: AwsCall['context']) => void

/** Returns `Ask` for one request. Without `authorize`, every action is allowed. */
export const asking = (authorize: Authorize | undefined, headers: IncomingHttpHeaders): Ask => {
  const [, principal = ''] = /Credential=([^/]+)\//.exec(headers.authorization ?? '') ?? []
  return (action, resource, context = {}) => authorize?.({ principal, action, resource, context })
}

/** An operation of a service, from JSON input to output. Throws AwsError. */
export type AwsOperation = (input: unknown, ask: Ask) => object | Promise<object>

/** Parses an operation's input. Throws a ValidationException that names the wrong field. */
export function parseInput<Schema extends v.GenericSchema>(schema: Schema, input: unknown): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, input)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new AwsError('ValidationException', `${v.getDotPath(issue) ?? 'input'}: ${issue.message}`)
}

/** Returns the reply for an error in both JSON protocols: the type is in the body and in a header. */
function awsFailure(error: AwsError): LocalReply {
  return json(error.status, { __type: error.type, message: error.message }, { 'x-amzn-errortype': error.type })
}

/** Turns a thrown AwsError, or a body that is not JSON, into a reply that the SDK understands. */
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
 * Serves one service of the AWS JSON 1.1 protocol: `POST /` with the operation in `X-Amz-Target: {service}.{name}`. Does not
 * check signatures.
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
