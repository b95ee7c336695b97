/** Scans what one side of a Postgres connection sends, chunk by chunk. Stores only the position in the current message. */
export interface FrameScanner {
  /** Scans the next chunk. Calls `onMessage` with the type of each message that began in it, but for startup messages. */
  scan(chunk: Uint8Array, onMessage?: (type: number) => void): void
  /** Returns whether the next chunk begins a message. */
  atBoundary(): boolean
}

/** The types of messages. */
export const QUERY = 0x51
export const EXECUTE = 0x45
export const SYNC = 0x53
export const TERMINATE = 0x58
export const READY_FOR_QUERY = 0x5a

const SSL_REQUEST = 80_877_103
const GSSENC_REQUEST = 80_877_104

const STARTUP_HEADER_BYTES = 8
const HEADER_BYTES = 5

/**
 * Returns a scanner. A client begins with startup messages, which have a length and a code. Every other message has a type and a
 * length, which includes itself but not the type. https://www.postgresql.org/docs/17/protocol-message-formats.html
 */
export function createFrameScanner(side: 'client' | 'server'): FrameScanner {
  const header = Buffer.alloc(STARTUP_HEADER_BYTES)
  let startup = side === 'client'
  let filled = 0
  let toSkip = 0

  const endOfHeader = (onMessage?: (type: number) => void): void => {
    filled = 0
    if (startup) {
      const code = header.readUInt32BE(4)
      startup = code === SSL_REQUEST || code === GSSENC_REQUEST
      toSkip = Math.max(0, header.readUInt32BE(0) - STARTUP_HEADER_BYTES)
      return
    }
    toSkip = Math.max(0, header.readUInt32BE(1) - (HEADER_BYTES - 1))
    onMessage?.(header.readUInt8(0))
  }

  return {
    atBoundary: () => !startup && filled === 0 && toSkip === 0,
    scan: (chunk, onMessage) => {
      let at = 0
      while (at < chunk.length) {
        const skipped = Math.min(toSkip, chunk.length - at)
        toSkip -= skipped
        at += skipped
        const byte = chunk[at]
        if (byte === undefined) break
        header[filled] = byte
        filled += 1
        at += 1
        if (filled === (startup ? STARTUP_HEADER_BYTES : HEADER_BYTES)) endOfHeader(onMessage)
      }
    },
  }
}
