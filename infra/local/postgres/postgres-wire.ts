import { connect, createServer, type Socket } from 'node:net'
import type { Faults } from '#infra/local/faults.ts'
import { listen } from '#infra/local/listen.ts'
import { createFrameScanner, EXECUTE, QUERY, READY_FOR_QUERY, SYNC, TERMINATE } from './postgres-frames.ts'

export interface PostgresWire {
  readonly port: number
  /**
   * Returns the number of Query and Execute messages, and how often the client waited for the server before it went on. What it
   * sends while a reply is owed counts as sent together, in however many packets.
   */
  counts(): { statements: number; roundTrips: number }
  close(): Promise<void>
}

export interface PostgresWireOptions {
  /** The address of Postgres. */
  readonly host: string
  readonly port: number
  /** The port to listen on at 127.0.0.1. Without one, any free port. */
  readonly listenPort?: number
  readonly faults?: Faults
}

// The one byte by which a server answers whether it encrypts.
const ENCRYPTION_ANSWER_BYTES = 1

interface Connection {
  readonly hangs: () => boolean
  readonly hang: () => void
  readonly drop: () => void
}

/**
 * Starts a proxy in front of Postgres that counts the traffic and obeys the 'postgres' fault: 'refuse' drops connections,
 * 'hang' stops them in both directions until the fault ends and then drops them, 'slow' delays what clients send. A `share`
 * below 1 is drawn per connection, and for 'slow' per chunk.
 */
export async function startPostgresWire(options: PostgresWireOptions): Promise<PostgresWire> {
  const { host, port, listenPort = 0, faults } = options
  const connections = new Set<Connection>()
  const counts = { statements: 0, roundTrips: 0 }

  const join = (client: Socket): Connection => {
    const upstream = connect({ host, port, noDelay: true })
    const scanner = createFrameScanner('client')
    const replies = createFrameScanner('server')
    let hung = false
    let clientsTurn = true
    // How many messages the server has yet to answer by ReadyForQuery. It sends one more at the start, which answers none.
    let owed = 0

    const toServer = createDelayLine((chunk) => {
      if (!upstream.write(chunk)) client.pause()
    })

    client.on('data', (chunk: Buffer) => {
      const leaves = scanner.atBoundary() && chunk[0] === TERMINATE
      if (clientsTurn && !leaves) counts.roundTrips += 1
      clientsTurn = false
      let statements = 0
      scanner.scan(chunk, (type) => {
        if (type === QUERY || type === EXECUTE) statements += 1
        if (type === QUERY || type === SYNC) owed += 1
      })
      counts.statements += statements
      faults?.count('postgres', statements)
      toServer.push(chunk, faults?.draw('postgres') === 'slow' ? faults.current('postgres').ms : 0)
    })
    upstream.on('data', (chunk: Buffer) => {
      if (chunk.length > ENCRYPTION_ANSWER_BYTES || !replies.atBoundary())
        replies.scan(chunk, (type) => {
          if (type === READY_FOR_QUERY) owed = Math.max(0, owed - 1)
        })
      clientsTurn ||= owed === 0
      if (!client.write(chunk)) upstream.pause()
    })
    upstream.on('drain', () => hung || client.resume())
    client.on('drain', () => hung || upstream.resume())
    // After a plain end, drivers reconnect silently. A server that is down is an error to them.
    upstream.on('error', () => client.resetAndDestroy())
    client.on('close', () => {
      toServer.clear()
      upstream.destroySoon()
    })
    upstream.on('close', () => client.destroySoon())

    return {
      hangs: () => hung,
      hang: () => {
        hung = true
        toServer.clear()
        client.pause()
        upstream.pause()
      },
      drop: () => {
        client.destroy()
        upstream.destroy()
      },
    }
  }

  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => {})
    const mode = faults?.draw('postgres') ?? 'ok'
    if (mode === 'refuse') {
      // A reset is an error to the client, like a refused connection. After a plain end, drivers reconnect silently.
      client.resetAndDestroy()
      return
    }
    const connection = mode === 'hang' ? neverRead(client) : join(client)
    connections.add(connection)
    client.once('close', () => connections.delete(connection))
  })

  const stopListening = faults?.onChange((fault) => {
    if (fault.part !== 'postgres') return
    for (const connection of connections) {
      if (connection.hangs() && fault.mode === 'hang') continue
      const mode = connection.hangs() ? 'refuse' : faults.draw('postgres')
      if (mode === 'refuse') connection.drop()
      if (mode === 'hang') connection.hang()
    }
  })

  return {
    port: await listen(server, listenPort),
    counts: () => ({ ...counts }),
    close: () => {
      stopListening?.()
      return new Promise((resolve) => {
        server.close(() => resolve())
        for (const connection of connections) connection.drop()
      })
    },
  }
}

/** Accepts a connection during 'hang' and never reads from it. */
function neverRead(client: Socket): Connection {
  client.pause()
  return { hangs: () => true, hang: () => {}, drop: () => client.destroy() }
}

/** Passes chunks on in the order they came, each no earlier than its own delay after it came. */
function createDelayLine(pass: (chunk: Buffer) => void): { push(chunk: Buffer, ms: number): void; clear(): void } {
  const line: { readonly chunk: Buffer; readonly due: number }[] = []
  let timer: NodeJS.Timeout | undefined

  const advance = () => {
    timer = undefined
    for (let head = line[0]; head !== undefined; head = line[0]) {
      const left = head.due - performance.now()
      if (left > 0) {
        timer = setTimeout(advance, Math.ceil(left))
        return
      }
      line.shift()
      pass(head.chunk)
    }
  }

  return {
    push: (chunk, ms) => {
      if (ms === 0 && line.length === 0) {
        pass(chunk)
        return
      }
      line.push({ chunk, due: performance.now() + ms })
      if (timer === undefined) advance()
    },
    clear: () => {
      clearTimeout(timer)
      timer = undefined
      line.length = 0
    },
  }
}
