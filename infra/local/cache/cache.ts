import { randomBytes } from 'node:crypto'
import { ErrorReply } from '@redis/client'
import * as v from 'valibot'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, type LocalReply, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { createLuaDigests } from './lua-digests.ts'
import { chooseServer, connect, type RedisAddress, type RedisConnection, type RedisReply } from './redis.ts'

export interface Cache extends HttpServer {
  readonly token: string
  readonly kind: 'redis' | 'in-process'
  /** Stops the server behind the endpoint and deletes its data. Requests are then cut off. */
  stop(): Promise<void>
  start(): Promise<void>
}

const Command = v.pipe(
  v.array(v.pipe(v.union([v.string(), v.number(), v.boolean()]), v.transform(String))),
  v.minLength(1),
)
const Commands = v.array(Command)

// All clients share one connection. These commands change its state or block it. Upstash refuses most of them too.
const REFUSED =
  /^(auth|hello|select|quit|reset|shutdown|debug|multi|exec|discard|watch|unwatch|client|monitor|p?s?subscribe|wait|blmove|blm?pop|brpop|brpoplpush|bz(m|re)?pop(min|max)?)$/i

/**
 * Serves Upstash's REST interface to Redis for the unmodified @upstash/redis client. A real server answers if the machine
 * has one, else an in-process stand-in. Keeps nothing over a restart.
 */
export async function startCache(
  options: { readonly faults?: Faults; readonly force?: 'in-process'; readonly port?: number } = {},
): Promise<Cache> {
  const { faults, force, port } = options
  const redis = await chooseServer(force)
  const token = randomBytes(24).toString('base64url')
  const digests = createLuaDigests()
  let address: RedisAddress | undefined
  let connection: Promise<RedisConnection> | undefined

  // One shared connection, opened on first use and again after it was lost.
  const connected = (): Promise<RedisConnection> => {
    if (address === undefined) return Promise.reject(new Error('The cache is stopped'))
    if (connection !== undefined) return connection
    const opening = connect(address)
    const forget = () => {
      if (connection === opening) connection = undefined
    }
    opening.then((client) => client.once('error', forget), forget)
    connection = opening
    return opening
  }

  // Queues all commands in one tick, so that no command of another request comes between them.
  const send = async (commands: readonly string[][]): Promise<RedisReply[]> => {
    const client = await connected()
    const replies = commands.map(async (command): Promise<RedisReply> => {
      try {
        return digests.restore(command, await client.sendCommand<RedisReply>(digests.rewrite(command)))
      } catch (error) {
        if (error instanceof ErrorReply) return error
        throw error
      }
    })
    return Promise.all(replies)
  }

  const answer = async (request: LocalRequest): Promise<LocalReply | 'drop'> => {
    if (request.headers.authorization !== `Bearer ${token}`) return json(401, { error: 'Unauthorized' })
    const body = parseBody(request)
    if (body === undefined) return json(400, { error: 'ERR failed to parse the command' })
    const refused = body.commands.find(([name = '']) => REFUSED.test(name))
    if (refused !== undefined) return json(400, { error: `ERR ${refused[0]} is not available here` })
    const encode = encoder(request.headers['upstash-encoding'] === 'base64')
    try {
      if (body.kind === 'transaction')
        return transactionReply(await send([['MULTI'], ...body.commands, ['EXEC']]), encode)
      const replies = await send(body.commands)
      const [first = null] = replies
      if (body.kind === 'pipeline') return json(200, replies.map(encode))
      return json(first instanceof ErrorReply ? 400 : 200, encode(first))
    } catch {
      return 'drop'
    }
  }

  const start = async () => {
    address ??= await redis.start()
  }
  const stop = async () => {
    address = undefined
    const closing = connection
    connection = undefined
    await closing?.then((client) => client.destroy()).catch(() => {})
    await redis.stop()
  }

  const server = await startHttpServer({ port, meet: faults && (() => faults.meet('cache')), answer })
  await start()
  return {
    ...server,
    token,
    kind: redis.kind,
    start,
    stop,
    close: async () => {
      await server.close()
      await stop()
    },
  }
}

type Body = { readonly kind: 'command' | 'pipeline' | 'transaction'; readonly commands: string[][] }

function parseBody({ method, url, body }: LocalRequest): Body | undefined {
  if (method !== 'POST') return undefined
  try {
    const input: unknown = JSON.parse(body.toString())
    switch (url.pathname) {
      case '/':
        return { kind: 'command', commands: [v.parse(Command, input)] }
      case '/pipeline':
        return { kind: 'pipeline', commands: v.parse(Commands, input) }
      case '/multi-exec':
        return { kind: 'transaction', commands: v.parse(Commands, input) }
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}

type Encode = (reply: RedisReply) => { result: unknown } | { error: string }

const encoder =
  (base64: boolean): Encode =>
  (reply) =>
    reply instanceof ErrorReply ? { error: reply.message } : { result: encodeValue(reply, base64) }

function encodeValue(reply: RedisReply, base64: boolean): unknown {
  if (reply === null || typeof reply === 'number') return reply
  if (reply instanceof ErrorReply) return reply.message
  if (Array.isArray(reply)) return reply.map((item) => encodeValue(item, base64))
  // The client reads a bare OK as it is, at the top level only.
  if (reply === 'OK') return reply
  return Buffer.from(reply).toString(base64 ? 'base64' : 'utf8')
}

function transactionReply(replies: readonly RedisReply[], encode: Encode): LocalReply {
  const results = replies.at(-1)
  if (Array.isArray(results)) return json(200, results.map(encode))
  const failure = results instanceof ErrorReply ? results.message : 'EXECABORT the transaction was aborted'
  return json(400, { error: failure })
}
