import type { Duplex } from 'node:stream'

/** An error reply, as a value: one of a transaction's replies may be an error and the others not. */
export class RedisError extends Error {
  override name = 'RedisError'
}

export type RedisReply = string | number | Buffer | null | RedisError | RedisReply[]

export interface RespClient {
  /** Sends commands in one write, so that nobody else's come between; resolves to their replies in order. */
  send(commands: readonly (readonly string[])[]): Promise<RedisReply[]>
  /** Cuts the connection; what still waits is rejected. */
  close(): void
  /** Calls `listener` when the connection has ended, for whatever reason. */
  onEnd(listener: () => void): void
}

/** A Redis client of RESP version 2 over any stream. Once the stream has ended, everything is rejected. */
export function createRespClient(stream: Duplex): RespClient {
  const waiting: { readonly resolve: (reply: RedisReply) => void; readonly reject: (error: Error) => void }[] = []
  let pending: Buffer = Buffer.alloc(0)
  let lost: Error | undefined

  const lose = (error: Error) => {
    lost ??= error
    for (const { reject } of waiting.splice(0)) reject(lost)
  }

  const take = (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    let at = 0
    for (let next = parseReply(pending, at); next !== undefined; next = parseReply(pending, at)) {
      at = next.end
      waiting.shift()?.resolve(next.reply)
    }
    pending = pending.subarray(at)
  }

  stream.on('data', (chunk: Buffer) => {
    try {
      take(chunk)
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  })
  stream.on('error', lose)
  for (const event of ['end', 'close'])
    stream.on(event, () => lose(new Error('The connection to the cache was closed')))

  return {
    onEnd: (listener) => stream.once('close', listener),
    send: (commands) => {
      if (lost !== undefined) return Promise.reject(lost)
      const replies = commands.map(
        () => new Promise<RedisReply>((resolve, reject) => waiting.push({ resolve, reject })),
      )
      stream.write(Buffer.concat(commands.map(encodeCommand)))
      return Promise.all(replies)
    },
    close: () => {
      stream.destroy()
      lose(new Error('The connection to the cache was closed'))
    },
  }
}

function encodeCommand(command: readonly string[]): Buffer {
  const bulk = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return Buffer.from(`*${command.length}\r\n${bulk.join('')}`)
}

interface Parsed {
  readonly reply: RedisReply
  readonly end: number
}

/** The reply that begins at `at`, or undefined when it has not all come yet. */
function parseReply(buffer: Buffer, at: number): Parsed | undefined {
  const lineEnd = buffer.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const line = buffer.toString('utf8', at + 1, lineEnd)
  const end = lineEnd + 2
  switch (String.fromCharCode(buffer[at] ?? 0)) {
    case '+':
      return { reply: line, end }
    case '-':
      return { reply: new RedisError(line), end }
    case ':':
      return { reply: Number(line), end }
    case '$':
      return parseBulk(buffer, Number(line), end)
    case '*':
      return parseArray(buffer, Number(line), end)
    default:
      throw new Error('The cache does not speak RESP version 2')
  }
}

function parseBulk(buffer: Buffer, length: number, at: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: at }
  if (buffer.length < at + length + 2) return undefined
  return { reply: Buffer.from(buffer.subarray(at, at + length)), end: at + length + 2 }
}

function parseArray(buffer: Buffer, length: number, at: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: at }
  const replies: RedisReply[] = []
  let end = at
  while (replies.length < length) {
    const next = parseReply(buffer, end)
    if (next === undefined) return undefined
    replies.push(next.reply)
    end = next.end
  }
  return { reply: replies, end }
}
