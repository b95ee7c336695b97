/** Scans what a Postgres client sends, chunk by chunk. Stores only the position in the current message. */
export interface FrameScanner {
  /** Scans the next chunk. Returns how many Query and Execute messages began in it. */
  scan(chunk: Uint8Array): number
  /** Returns whether the next chunk begins a message. */
  atBoundary(): boolean
}

const QUERY = 0x51
const EXECUTE = 0x45
const SSL_REQUEST = 80_877_103
const GSSENC_REQUEST = 80_877_104

const STARTUP_HEADER_BYTES = 8
const HEADER_BYTES = 5

// https://www.postgresql.org/docs/17/protocol-message-formats.html: a startup message has a length and a code, every later
// message a type and a length. The length includes itself but not the type.
export function createFrameScanner(): FrameScanner {
  const header = Buffer.alloc(STARTUP_HEADER_BYTES)
  let startup = true
  let filled = 0
  let toSkip = 0

  const endOfHeader = (): number => {
    filled = 0
    if (startup) {
      const code = header.readUInt32BE(4)
      startup = code === SSL_REQUEST || code === GSSENC_REQUEST
      toSkip = Math.max(0, header.readUInt32BE(0) - STARTUP_HEADER_BYTES)
      return 0
    }
    toSkip = Math.max(0, header.readUInt32BE(1) - (HEADER_BYTES - 1))
    return header[0] === QUERY || header[0] === EXECUTE ? 1 : 0
  }

  return {
    atBoundary: () => !startup && filled === 0 && toSkip === 0,
    scan: (chunk) => {
      let statements = 0
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
        if (filled === (startup ? STARTUP_HEADER_BYTES : HEADER_BYTES)) statements += endOfHeader()
      }
      return statements
    },
  }
}
