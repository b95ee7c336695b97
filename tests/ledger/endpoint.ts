import { connect, createServer, type Socket } from 'node:net'
import { listen } from '#infra/local/listen.ts'

/** One address for whichever server is the primary, as that of a cluster of Aurora. */
export interface Endpoint {
  readonly port: number
  /** Cuts all connections. Further ones go to this port. */
  moveTo(port: number): void
  close(): Promise<void>
}

export async function openEndpoint(first: number): Promise<Endpoint> {
  let target = first
  const sockets = new Set<Socket>()
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = track(connect({ host: '127.0.0.1', port: target, noDelay: true }))
    track(client).pipe(upstream).pipe(client)
    // A refused or lost connection is an error to the client. After a plain end, drivers reconnect silently.
    upstream.on('error', () => client.resetAndDestroy())
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: await listen(server, 0),
    moveTo: (port) => {
      target = port
      cut()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
