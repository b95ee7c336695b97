import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Faults } from '#infra/local/faults.ts'
import { createFrameScanner } from './postgres-frames.ts'

export interface PostgresWire {
  readonly port: number
  /** Query and Execute messages, and how often clients sent something that the server then had to answer. */
  counts(): { statements: number; roundTrips: number }
  close(): Promise<void>
}

export interface PostgresWireOptions {
  /** Where Postgres is. */
  readonly host: string
  readonly port: number
  /** Where to listen on 127.0.0.1; 0 for any free port. */
  readonly listenPort?: number
  readonly faults?: Faults
  /** The two counters, statements and round trips, for a thread that shares them. */
  readonly counters?: Uint32Array
}

export const STATEMENTS = 0
export const ROUND_TRIPS = 1

const TERMINATE = 0x58

interface Connection {
  readonly hangs: () => boolean
  readonly hang: () => void
  readonly drop: () => void
}

/**
 * A proxy before Postgres that counts what passes and meets the 'postgres' fault: 'refuse' drops connections, 'hang'
 * stops them both ways until the fault ends and then drops them, 'slow' delays what clients send. A `share` below 1 is
 * drawn for each connection, and for 'slow' for each chunk. When the server goes, its connections do.
 */
export async function startPostgresWire(options: PostgresWireOptions): Promise<PostgresWire> {
  const { faults, counters = new Uint32Array(2) } = options
  const links = new Set<Connection>()

  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => {})
    const mode = faults?.draw('postgres') ?? 'ok'
    if (mode === 'refuse') {
      // A reset is an error to the client, as a refused connection is; after a mere end, drivers quietly try again.
      client.resetAndDestroy()
      return
    }
    const link = mode === 'hang' ? stillborn(client) : join(client, options, counters)
    links.add(link)
    client.once('close', () => links.delete(link))
  })

  const stopListening = faults?.onChange((fault) => {
    if (fault.part !== 'postgres') return
    for (const link of links) {
      if (link.hangs() && fault.mode === 'hang') continue
      const mode = link.hangs() ? 'refuse' : (faults.draw('postgres') ?? 'ok')
      if (mode === 'refuse') link.drop()
      if (mode === 'hang') link.hang()
    }
  })

  const counts = () => ({
    statements: Atomics.load(counters, STATEMENTS),
    roundTrips: Atomics.load(counters, ROUND_TRIPS),
  })
  faults?.countFrom('postgres', () => counts().statements)
  const port = await listen(server, options.listenPort ?? 0)
  return {
    port,
    counts,
    close: () => {
      stopListening?.()
      return new Promise((resolve) => {
        server.close(() => resolve())
        for (const link of links) link.drop()
      })
    },
  }
}

/** A connection that came while the fault hangs: taken, and never read. */
function stillborn(client: Socket): Connection {
  client.pause()
  return { hangs: () => true, hang: () => {}, drop: () => client.destroy() }
}

function join(client: Socket, { host, port, faults }: PostgresWireOptions, counters: Uint32Array): Connection {
  const upstream = connect({ host, port, noDelay: true })
  const scanner = createFrameScanner()
  let hung = false
  let clientsTurn = true

  const toServer = createDelayLine((chunk) => {
    if (!upstream.write(chunk)) client.pause()
  })

  client.on('data', (chunk: Buffer) => {
    const leaves = scanner.atBoundary() && chunk[0] === TERMINATE
    if (clientsTurn && !leaves) Atomics.add(counters, ROUND_TRIPS, 1)
    clientsTurn = false
    const statements = scanner.scan(chunk)
    if (statements > 0) Atomics.add(counters, STATEMENTS, statements)
    toServer.push(chunk, faults?.draw('postgres') === 'slow' ? faults.current('postgres').ms : 0)
  })
  upstream.on('data', (chunk: Buffer) => {
    clientsTurn = true
    if (!client.write(chunk)) upstream.pause()
  })
  upstream.on('drain', () => hung || client.resume())
  client.on('drain', () => hung || upstream.resume())
  upstream.on('error', () => {})
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

/** Passes chunks on in the order they came, each at the earliest its own delay after it came. */
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

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      const address = server.address()
      if (address === null || typeof address === 'string') reject(new Error('The proxy has no port'))
      else resolve(address.port)
    })
  })
}
