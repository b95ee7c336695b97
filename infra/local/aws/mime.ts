export interface Mail {
  readonly from: string
  readonly to: string
  readonly cc: string
  readonly subject: string
  readonly text: string | null
  readonly html: string | null
}

interface Entity {
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Reads the addresses, the subject and the first text and HTML part of a MIME message; attachments are passed over. */
export function parseMime(raw: Uint8Array): Mail {
  const message = parseEntity(Buffer.from(raw).toString('latin1').replaceAll('\r\n', '\n'))
  const header = (name: string) => decodeWords(message.headers.get(name) ?? '')
  const leaves = leavesOf(message)
  return {
    from: header('from'),
    to: header('to'),
    cc: header('cc'),
    subject: header('subject'),
    text: contentOf(leaves, 'text/plain'),
    html: contentOf(leaves, 'text/html'),
  }
}

// The message is carried as latin1, one character a byte, until the charset of each part is known.
const fromBytes = (bytes: Uint8Array, charset: string): string => {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

function parseEntity(text: string): Entity {
  const end = text.startsWith('\n') ? 0 : text.indexOf('\n\n')
  const head = end < 0 ? text : text.slice(0, end)
  const headers = new Map<string, string>()
  for (const line of head.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':')
    if (colon < 1) continue
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  return { headers, body: end < 0 ? '' : text.slice(end).replace(/^\n{1,2}/, '') }
}

const parameter = (header: string, name: string): string | undefined =>
  new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;]+))`, 'i')
    .exec(header)
    ?.slice(1)
    .find((value) => value !== undefined)

const typeOf = ({ headers }: Entity): string => headers.get('content-type') ?? 'text/plain'

function leavesOf(entity: Entity): Entity[] {
  const boundary = parameter(typeOf(entity), 'boundary')
  if (!/^multipart\//i.test(typeOf(entity)) || boundary === undefined) return [entity]
  const parts = `\n${entity.body}`.split(`\n--${boundary}`).slice(1)
  const last = parts.findIndex((part) => part.startsWith('--'))
  return parts
    .slice(0, last < 0 ? parts.length : last)
    .flatMap((part) => leavesOf(parseEntity(part.replace(/^[ \t]*\n/, ''))))
}

function contentOf(leaves: readonly Entity[], type: string): string | null {
  const leaf = leaves.find(
    (entity) =>
      typeOf(entity).toLowerCase().startsWith(type) &&
      !/^attachment/i.test(entity.headers.get('content-disposition') ?? ''),
  )
  if (leaf === undefined) return null
  const bytes = decodeTransfer(leaf.body, leaf.headers.get('content-transfer-encoding') ?? '7bit')
  return fromBytes(bytes, parameter(typeOf(leaf), 'charset') ?? 'utf-8')
}

function decodeTransfer(body: string, encoding: string): Buffer {
  switch (encoding.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64')
    case 'quoted-printable':
      return Buffer.from(unquote(body.replaceAll(/[ \t]+$/gm, '').replaceAll('=\n', '')), 'latin1')
    default:
      return Buffer.from(body, 'latin1')
  }
}

const unquote = (text: string): string =>
  text.replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Decodes the encoded words of a header (RFC 2047); what is not encoded is read as UTF-8. */
function decodeWords(header: string): string {
  return fromBytes(Buffer.from(header, 'latin1'), 'utf-8')
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?([^?]+)\?([bq])\?([^?]*)\?=/gi, (_, charset: string, kind: string, word: string) => {
      const bytes =
        kind.toLowerCase() === 'b'
          ? Buffer.from(word, 'base64')
          : Buffer.from(unquote(word.replaceAll('_', ' ')), 'latin1')
      return fromBytes(bytes, charset)
    })
}
