import { createHash } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isPwned } from '#shared/password/pwned-passwords.ts'

const PASSWORD = 'a passphrase to be checked'
const digest = createHash('sha1').update(PASSWORD).digest('hex').toUpperCase()
const suffix = digest.slice(5)

let server: Server
let url: string
let asked: string[] = []
let reply: (response: ServerResponse) => void

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    reply(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const check = (answer: (response: ServerResponse) => void, at = url): Promise<boolean> => {
  asked = []
  reply = answer
  return isPwned(PASSWORD, at)
}

describe('isPwned', () => {
  it('finds the rest of the hash in any line', async () => {
    for (const lines of [
      `${suffix}:1`,
      `${'0'.repeat(35)}:9\r\n${suffix}:12\r\n`,
      `${'0'.repeat(35)}:9\n${suffix}:3`,
    ]) {
      expect(await check((response) => response.end(lines))).toBe(true)
    }
  })

  it('ignores padding, other hashes and partial matches', async () => {
    for (const lines of [
      '',
      `${suffix}:0`,
      `${suffix.slice(1)}:5`,
      `${digest}:5`,
      suffix.toLowerCase(),
      `A${suffix}:5`,
    ]) {
      expect(await check((response) => response.end(lines)), lines).toBe(false)
    }
  })

  it('sends exactly five characters of the hash, with or without trailing slashes in the URL', async () => {
    for (const at of [url, `${url}/`, `${url}//`]) {
      await check((response) => response.end(''), at)
      expect(asked).toEqual([`GET /range/${digest.slice(0, 5)}`])
    }
  })

  it('checks nothing without a URL', async () => {
    expect(await check((response) => response.end(`${suffix}:1`), '')).toBe(false)
    expect(asked).toEqual([])
  })

  it('returns false when the service fails, and follows no redirect', async () => {
    for (const answer of [
      (response: ServerResponse) => void response.writeHead(500).end(`${suffix}:1`),
      (response: ServerResponse) => void response.writeHead(404).end(`${suffix}:1`),
      (response: ServerResponse) => void response.writeHead(302, { location: '/elsewhere' }).end(),
      (response: ServerResponse) => void response.destroy(),
    ]) {
      expect(await check(answer)).toBe(false)
      expect(asked).toHaveLength(1)
    }
    expect(await check(() => {}, 'http://127.0.0.1:1')).toBe(false)
  })

  it('returns false when the service does not respond within a second', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort())
    expect(await check(() => {})).toBe(false)
    expect(timeout.mock.calls).toEqual([[1000]])
    timeout.mockRestore()
  })
})
