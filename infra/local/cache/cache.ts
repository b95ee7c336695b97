import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, type LocalReply, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { createLuaDigests } from './lua-digests.ts'
import { chooseBacking, type RedisBacking } from './redis-backing.ts'
import { RedisError, type RedisReply, type RespClient } from './resp.ts'

export interface Cache extends HttpServer {
  readonly token: string
  readonly kind: RedisBacking['kind']
  /** Stops the server behind the endpoint, and with it all that it held; requests are then cut off. */
  stop(): Promise<void>
  start(): Promise<void>
}

const Command = v.pipe(
  v.array(v.pipe(v.union([v.string(), v.number(), v.boolean()]), v.transform(String))),
  v.minLength(1),
)
const Commands = v.array(Command)

// All clients share one connection, so nothing may change its state or keep it waiting. Upstash refuses most of these too.
const REFUSED =
  /^(auth|hello|select|quit|reset|shutdown|debug|multi|exec|discard|watch|unwatch|client|monitor|p?s?subscribe|wait|blmove|blm?pop|brpop|brpoplpush|bz(m|re)?pop(min|max)?)$/i

/**
 * Serves Upstash's REST interface to Redis, for the unmodified @upstash/redis client, before a real server where there
 * is one and a stand-in inside this process where not. Nothing is kept over a restart.
 */
export async function startCache(
  options: { readonly faults?: Faults; readonly force?: 'in-process'; readonly port?: number } = {},
): Promise<Cache> {
  const { faults, force, port } = options
  const backing = await chooseBacking(force)
  const line = createLine(backing)
  const token = randomBytes(24).toString('base64url')
  const digests = createLuaDigests()

  const send = async (client: RespClient, commands: readonly string[][]): Promise<RedisReply[]> => {
    const replies = await client.send(commands.map((command) => digests.rewrite(command)))
    return replies.map((reply, index) => digests.restore(commands[index] ?? [], reply))
  }

  const answer = async (request: LocalRequest): Promise<LocalReply | 'drop'> => {
    if (request.headers.authorization !== `Bearer ${token}`) return json(401, { error: 'Unauthorized' })
    const body = parseBody(request)
    if (body === undefined) return json(400, { error: 'ERR failed to parse the command' })
    const refused = body.commands.find(([name = '']) => REFUSED.test(name))
    if (refused !== undefined) return json(400, { error: `ERR ${refused[0]} is not available here` })
    const client = await line.take()
    if (client === undefined) return 'drop'
    const encode = encoder(request.headers['upstash-encoding'] === 'base64')
    try {
      if (body.kind === 'transaction')
        return transactionReply(await send(client, [['MULTI'], ...body.commands, ['EXEC']]), encode)
      const replies = await send(client, body.commands)
      const [first = null] = replies
      if (body.kind === 'pipeline') return json(200, replies.map(encode))
      return json(first instanceof RedisError ? 400 : 200, encode(first))
    } catch {
      return 'drop'
    }
  }

  const server = await startHttpServer({ port, meet: faults && (() => faults.meet('cache')), answer })
  await backing.start()
  return {
    ...server,
    token,
    kind: backing.kind,
    start: () => backing.start(),
    stop: async () => {
      line.cut()
      await backing.stop()
    },
    close: async () => {
      await server.close()
      line.cut()
      await backing.stop()
    },
  }
}

/** One shared connection, made when it is first needed and again after it was lost. */
function createLine(backing: RedisBacking) {
  let current: Promise<RespClient | undefined> | undefined
  return {
    /** The connection, or undefined when there is no server. */
    take: (): Promise<RespClient | undefined> => {
      current ??= backing.connect().then(
        (client) => {
          client.onEnd(() => {
            current = undefined
          })
          return client
        },
        () => {
          current = undefined
          return undefined
        },
      )
      return current
    },
    cut: () => {
      void current?.then((client) => client?.close())
      current = undefined
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
    reply instanceof RedisError ? { error: reply.message } : { result: encodeValue(reply, base64) }

function encodeValue(reply: RedisReply, base64: boolean): unknown {
  if (reply === null || typeof reply === 'number') return reply
  if (reply instanceof RedisError) return reply.message
  if (Array.isArray(reply)) return reply.map((item) => encodeValue(item, base64))
  // The client takes a bare OK for what it is, at the top only.
  if (reply === 'OK') return base64 ? 'OK' : reply
  return Buffer.from(reply).toString(base64 ? 'base64' : 'utf8')
}

function transactionReply(replies: readonly RedisReply[], encode: Encode): LocalReply {
  const results = replies.at(-1)
  if (Array.isArray(results)) return json(200, results.map(encode))
  const failure = results instanceof RedisError ? results.message : 'EXECABORT the transaction was aborted'
  return json(400, { error: failure })
}
