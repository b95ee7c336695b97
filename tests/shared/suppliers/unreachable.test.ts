import { execFile } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import tls from 'node:tls'
import { inspect, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { agentFor, boundedRequest, MAX_RESPONSE_BYTES } from '#shared/outbound/bounded-request.ts'
import type { AdapterName } from '#shared/suppliers/vendor.ts'
import { selfSigned } from './self-signed.ts'
import { ask, BOTH, CREDENTIAL, GOOD_ANSWER, listen, startVendor } from './test-vendor.ts'

const unreachable = (reason: string) => ({ outcome: 'unreachable', reason })

/** Starts a TCP server that calls `meet` when a connection has sent data. */
async function startRaw(meet: (socket: Socket, first: string) => void) {
  const server = createTcpServer((socket) => socket.once('data', (data) => meet(socket, data.toString())))
  const { port, open } = await listen(server)
  return { host: `127.0.0.1:${port}`, open }
}

async function closedPort(): Promise<number> {
  const server = createTcpServer()
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
  await new Promise((resolve) => server.close(resolve))
  return port
}

const good = (adapter: AdapterName) => (reply: ServerResponse) =>
  void reply.writeHead(200, { 'content-type': GOOD_ANSWER[adapter].type }).end(GOOD_ANSWER[adapter].body)

describe.for(BOTH)('an unreachable %s vendor', (adapter) => {
  it('reports connection_failed when nothing listens or the name is unknown', async () => {
    expect(await ask(adapter, `http://127.0.0.1:${await closedPort()}`)).toEqual(unreachable('connection_failed'))
    expect(await ask(adapter, 'https://vendor.invalid')).toEqual(unreachable('connection_failed'))
  })

  it.for([
    ['before its response', (socket: Socket) => socket.end()],
    ['with a reset', (socket: Socket) => socket.resetAndDestroy()],
    ['within the body', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n[')],
    ['within a chunk', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]')],
  ] as const)('reports connection_failed when the vendor hangs up %s', async ([, meet]) => {
    const { host } = await startRaw(meet)
    expect(await ask(adapter, `http://${host}`)).toEqual(unreachable('connection_failed'))
  })

  it.for([
    ['sends nothing', () => {}],
    ['sends only a status', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\n')],
    ['sends interim responses forever', (socket: Socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['stops within the body', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n[')],
    ['sends the body byte by byte', (socket: Socket) => drip(socket, ' ', 'HTTP/1.1 200 OK\r\n\r\n[')],
  ] as const)('reports a timeout and closes the connection when the vendor %s', async ([, meet]) => {
    const { host, open } = await startRaw(meet)
    expect(await ask(adapter, `http://${host}`, { timeoutMs: 300 })).toEqual(unreachable('timeout'))
    await vi.waitFor(() => expect(open()).toBe(0))
  })

  it('reports a timeout and closes the connection when the TLS handshake never ends', async () => {
    const { host, open } = await startRaw(() => {})
    expect(await ask(adapter, `https://${host}`, { timeoutMs: 300 })).toEqual(unreachable('timeout'))
    await vi.waitFor(() => expect(open()).toBe(0))
  })

  it.for([
    [429, 'throttled'],
    [502, 'vendor_error'],
    [503, 'vendor_error'],
    [304, 'unexpected_response'],
    [418, 'unexpected_response'],
  ] as const)('maps status %s to %s', async ([status, reason]) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status).end())
    expect(await ask(adapter, vendor.url)).toEqual(unreachable(reason))
  })

  it.for([302, 429, 503])('closes the connection when the body after status %s does not end', async (status) => {
    const vendor = await startVendor((reply) => void reply.writeHead(status, { location: '/' }).write('x'))
    await ask(adapter, vendor.url, { timeoutMs: 60_000 })
    await vi.waitFor(() => expect(vendor.open()).toBe(0))
  })

  it('reports vendor_error for status 500', async () => {
    const vendor = await startVendor((reply) => void reply.writeHead(500).end('[]'))
    expect(await ask(adapter, vendor.url)).toEqual(unreachable('vendor_error'))
  })

  it.for([301, 302, 303, 307, 308])('follows no redirect with status %s', async (status) => {
    const elsewhere = await startVendor(good(adapter))
    const vendor = await startVendor((reply) => void reply.writeHead(status, { location: elsewhere.url }).end())
    expect(await ask(adapter, vendor.url)).toEqual(unreachable('redirected'))
    expect(vendor.requests).toHaveLength(1)
    expect(elsewhere.requests).toEqual([])
  })

  it('reports too_large and closes the connection when the response exceeds the limit', async () => {
    const body = GOOD_ANSWER[adapter].body.padEnd(2 * MAX_RESPONSE_BYTES)
    for (const length of [undefined, body.length]) {
      const vendor = await startVendor((reply) => {
        if (length !== undefined) reply.setHeader('content-length', length)
        reply.write(body)
        reply.end()
      })
      expect(await ask(adapter, vendor.url)).toEqual(unreachable('too_large'))
      await vi.waitFor(() => expect(vendor.open()).toBe(0))
    }
  })

  it('stops reading an endless response at the limit', async () => {
    let sent = 0
    const { host, open } = await startRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(' '.repeat(65_536))) sent += 65_536
      }
      socket.on('drain', more)
      more()
    })
    expect(await ask(adapter, `http://${host}`)).toEqual(unreachable('too_large'))
    await vi.waitFor(() => expect(open()).toBe(0))
    // Kernel buffers add to the bytes sent.
    expect(sent).toBeLessThan(32 * MAX_RESPONSE_BYTES)
  })

  it('accepts a response of exactly the maximum size', async () => {
    const { body } = GOOD_ANSWER[adapter]
    const vendor = await startVendor((reply) => void reply.end(body.padEnd(MAX_RESPONSE_BYTES)))
    expect(await ask(adapter, vendor.url)).toEqual({ outcome: 'accepted' })
    const larger = await startVendor((reply) => void reply.end(body.padEnd(MAX_RESPONSE_BYTES + 1)))
    expect(await ask(adapter, larger.url)).toEqual(unreachable('too_large'))
  })

  it('rejects a compressed response without expanding it', async () => {
    const bomb = gzipSync(GOOD_ANSWER[adapter].body.padEnd(64 * MAX_RESPONSE_BYTES))
    expect(bomb.length).toBeLessThan(MAX_RESPONSE_BYTES)
    const vendor = await startVendor((reply) => void reply.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
    expect(await ask(adapter, vendor.url)).toEqual(unreachable('unexpected_response'))
    const unlabelled = await startVendor((reply) => void reply.writeHead(200).end(bomb))
    expect(await ask(adapter, unlabelled.url)).toEqual(unreachable('unexpected_response'))
  })

  it.for([
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['a bare 101', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`],
  ] as const)('reports unexpected_response when the vendor sends %s', async ([, text]) => {
    const { host } = await startRaw((socket) => socket.write(text))
    expect(await ask(adapter, `http://${host}`)).toEqual(unreachable('unexpected_response'))
  })
})

describe.for(BOTH)('TLS of a %s vendor', (adapter) => {
  it('sends nothing of the credential to a server with an unknown certificate issuer', async () => {
    const certificate = selfSigned()
    const vendor = await startVendor(good(adapter), certificate)
    expect(await ask(adapter, vendor.url)).toEqual(unreachable('tls_failed'))
    expect(vendor.requests).toEqual([])

    const trusted = tls.getCACertificates('default')
    onTestFinished(() => tls.setDefaultCACertificates(trusted))
    tls.setDefaultCACertificates([...trusted, certificate.cert])
    expect(await ask(adapter, vendor.url)).toEqual({ outcome: 'accepted' })
    expect(await ask(adapter, vendor.url.replace('localhost', '127.0.0.1'))).toEqual(unreachable('tls_failed'))
    expect(vendor.requests).toHaveLength(1)
  })

  it('rejects a server that does not speak TLS', async () => {
    const vendor = await startVendor(good(adapter))
    expect(await ask(adapter, vendor.url.replace('http:', 'https:'))).toEqual(unreachable('tls_failed'))
    expect(vendor.requests).toEqual([])
  })

  it('verifies certificates and uses no proxy, independent of the environment', async () => {
    const vendor = await startVendor(good(adapter), selfSigned())
    const plain = await startVendor(good(adapter))
    const proxied: string[] = []
    const proxy = await startRaw((socket, first) => {
      proxied.push(first.slice(0, first.indexOf('\r')))
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    const script = `
      const { verifyCredential } = await import('#shared/suppliers/vendor.ts')
      const urls = new Map([['tls', new URL('${vendor.url}')], ['plain', new URL('${plain.url}')]])
      const outcomes = []
      for (const code of urls.keys())
        outcomes.push(await verifyCredential({ code, name: '', adapter: '${adapter}' }, { accountNumber: '1', secret: 's' }, { urls }))
      const fetched = await fetch('${vendor.url}').then((response) => response.status, () => 0)
      await fetch('http://vendor.invalid').catch(() => {})
      process.stdout.write(JSON.stringify({ outcomes, fetched }), () => process.exit())`
    const env = {
      ...process.env,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: `http://${proxy.host}`,
      NO_PROXY: 'localhost',
    }
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env })
    expect(JSON.parse((await run).stdout)).toEqual({
      outcomes: [unreachable('tls_failed'), { outcome: 'accepted' }],
      // fetch obeys this environment.
      fetched: 200,
    })
    expect(proxied).toEqual(['CONNECT vendor.invalid:80 HTTP/1.1'])
    expect(vendor.requests.map(({ headers }) => headers['user-agent'])).toEqual(['node'])
  })
})

describe('the error of a failed request', () => {
  it('contains nothing of the credential, the request or the response', async () => {
    const secret = 'a-secret-nobody-may-read'
    const sent = { authorization: `Basic ${btoa(`51234:${secret}`)}`, 'x-secret': secret }
    const answers: readonly ((reply: ServerResponse) => void)[] = [
      (reply) => void reply.writeHead(500).end(secret),
      (reply) => void reply.writeHead(302, { location: `http://127.0.0.1/?${secret}` }).end(),
      (reply) => void reply.writeHead(200).end(secret.padEnd(2 * MAX_RESPONSE_BYTES)),
      (reply) => void reply.destroy(),
      (reply) => void reply.write(secret),
    ]
    const targets = await Promise.all(answers.map(async (answer) => (await startVendor(answer)).url))
    const output = vi.spyOn(process.stdout, 'write')
    const errors = vi.spyOn(process.stderr, 'write')
    const consoles = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) => vi.spyOn(console, level))
    onTestFinished(() => void vi.restoreAllMocks())
    for (const url of [...targets, 'https://vendor.invalid', targets[0]?.replace('http:', 'https:') ?? '']) {
      const error: unknown = await boundedRequest(new URL(url), {
        method: 'POST',
        headers: sent,
        body: secret,
        statuses: [200],
        timeoutMs: 300,
      }).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'VendorUnreachable', reason: expect.any(String) })
      const all = inspect(error, { depth: Infinity, showHidden: true })
      for (const part of [secret, sent.authorization, btoa(`51234:${secret}`), new URL(url).host])
        expect(all).not.toContain(part)
      expect(Object.hasOwn(error as object, 'cause')).toBe(false)
      for (const adapter of BOTH)
        expect(Object.keys(await ask(adapter, url, { timeoutMs: 300 })).toSorted()).toEqual(['outcome', 'reason'])
    }
    for (const spy of [output, errors, ...consoles])
      expect(JSON.stringify(spy.mock.calls)).not.toContain(CREDENTIAL.secret)
  })

  it('is the same for right and wrong credentials while the vendor fails', async () => {
    const { host } = await startRaw((socket) => socket.end())
    const wrong = { ...CREDENTIAL, secret: 'wrong' }
    for (const adapter of BOTH) {
      for (const credential of [CREDENTIAL, wrong])
        expect(await ask(adapter, `http://${host}`, { credential })).toEqual(unreachable('connection_failed'))
    }
  })
})

function drip(socket: Socket, text: string, first = text): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(text), 20)
  socket.on('close', () => clearInterval(timer))
}

describe('a kept connection', () => {
  /** Sends requests to a server that meets each with its number on its connection. Returns the number of connections. */
  async function connectionsFor(requests: number, meet: (socket: Socket, number: number) => void): Promise<number> {
    let connections = 0
    const server = createTcpServer((socket) => {
      connections += 1
      let number = 0
      socket.on('data', () => meet(socket, (number += 1)))
    })
    const { port } = await listen(server)
    const url = new URL(`http://127.0.0.1:${port}`)
    const agent = agentFor(url)
    onTestFinished(() => agent.destroy())
    const options = { method: 'GET', headers: {}, statuses: [200], timeoutMs: 5000, agent } as const
    for (let sent = 0; sent < requests; sent += 1) expect((await boundedRequest(url, options)).body).toBe('[]')
    return connections
  }
  const reply = (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]')

  it('serves the next request', async () => {
    expect(await connectionsFor(4, reply)).toBe(1)
  })

  it('is replaced when the vendor has closed it', async () => {
    const connections = connectionsFor(3, (socket, number) => (number === 1 ? reply(socket) : socket.resetAndDestroy()))
    expect(await connections).toBe(3)
  })
})
