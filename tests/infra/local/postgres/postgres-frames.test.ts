import { describe, expect, it } from 'vitest'
import { createFrameScanner, EXECUTE, QUERY } from '#infra/local/postgres/postgres-frames.ts'

const startup = (code: number, rest = ''): Buffer => {
  const message = Buffer.alloc(8 + rest.length)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(code, 4)
  message.write(rest, 8)
  return message
}

const message = (type: string, body: string): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + Buffer.byteLength(body))
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)])
}

const SSL_REQUEST = startup(80_877_103)
const STARTUP = startup(196_608, 'user\0postgres\0\0')
const SESSION = Buffer.concat([
  SSL_REQUEST,
  startup(80_877_104),
  STARTUP,
  message('p', 'QE'),
  message('Q', 'select 1;Q\0'),
  message('P', '\0select E\0'),
  message('B', 'E'),
  message('E', '\0QQQQ'),
  message('S', ''),
  message('E', ''),
  message('X', ''),
])

describe('the frame scanner', () => {
  it.for([1, 2, 3, 5, 7, 11, SESSION.length])('finds every statement in chunks of %i bytes', (size) => {
    const scanner = createFrameScanner('client')
    const types: number[] = []
    for (let at = 0; at < SESSION.length; at += size)
      scanner.scan(SESSION.subarray(at, at + size), (type) => types.push(type))
    expect(types.filter((type) => type === QUERY || type === EXECUTE)).toEqual([QUERY, EXECUTE, EXECUTE])
    expect(types).toHaveLength(8)
    expect(scanner.atBoundary()).toBe(true)
  })

  it('is at a boundary only between messages', () => {
    const scanner = createFrameScanner('client')
    expect(scanner.atBoundary()).toBe(false)
    scanner.scan(STARTUP)
    expect(scanner.atBoundary()).toBe(true)
    scanner.scan(message('Q', 'select 1\0').subarray(0, 7))
    expect(scanner.atBoundary()).toBe(false)
  })
})
