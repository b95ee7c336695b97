import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

// An authenticator with its browser, which also lies. It shares no code with the library that verifies.

type Cbor = number | string | Uint8Array | boolean | ReadonlyMap<Cbor, Cbor>

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 0x1_00) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 0xff])
}

/** Encodes a value in CBOR (RFC 8949). */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 0xf5 : 0xf4])
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, entry]) => [cbor(key), cbor(entry)])])
}

export type Algorithm = -7 | -8 | -257

interface Keys {
  readonly cose: ReadonlyMap<number, Cbor>
  sign(data: Uint8Array): Buffer
}

const part = (key: KeyObject, name: 'x' | 'y' | 'n' | 'e'): Buffer =>
  Buffer.from(key.export({ format: 'jwk' })[name] ?? '', 'base64url')

function newKeys(algorithm: Algorithm): Keys {
  if (algorithm === -8) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const cose = new Map<number, Cbor>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, part(publicKey, 'x')],
    ])
    return { cose, sign: (data) => sign(null, data, privateKey) }
  }
  if (algorithm === -257) {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const cose = new Map<number, Cbor>([
      [1, 3],
      [3, -257],
      [-1, part(publicKey, 'n')],
      [-2, part(publicKey, 'e')],
    ])
    return { cose, sign: (data) => sign('sha256', data, privateKey) }
  }
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const cose = new Map<number, Cbor>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, part(publicKey, 'x')],
    [-3, part(publicKey, 'y')],
  ])
  return { cose, sign: (data) => sign('sha256', data, privateKey) }
}

const FLAGS = { up: 0x01, uv: 0x04, be: 0x08, bs: 0x10, at: 0x40 }

/** What an answer lies about. Whatever is missing is true. */
export interface Lie {
  /** Keys of the client data. `undefined` removes one. */
  readonly clientData?: Readonly<Record<string, unknown>>
  readonly rpId?: string
  /** Flags that are set although they should not be, or the reverse. */
  readonly flip?: readonly (keyof typeof FLAGS)[]
  readonly signCount?: number
  readonly signature?: (right: Buffer) => Buffer
  readonly userHandle?: string | null
  readonly id?: string
  readonly rawId?: string
  /** The COSE key of a new passkey. */
  readonly key?: ReadonlyMap<number, Cbor>
  readonly format?: string
  readonly statement?: ReadonlyMap<Cbor, Cbor>
  /** Bytes after the authenticator data. */
  readonly trailing?: Buffer
}

interface Options {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
}

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()
const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')

/** A passkey on a device. Its counter rises with each answer, unless it is synced. */
export class Authenticator {
  readonly id: string
  readonly keys: Keys
  readonly #origin: string
  readonly #synced: boolean
  readonly #rpId: string
  handle = ''
  signCount = 0

  constructor({
    origin,
    rpId = new URL(origin).hostname,
    algorithm = -7,
    synced = false,
    id = base64url(randomBytes(32)),
  }: {
    readonly origin: string
    readonly rpId?: string
    readonly algorithm?: Algorithm
    readonly synced?: boolean
    readonly id?: string
  }) {
    this.id = id
    this.keys = newKeys(algorithm)
    this.#origin = origin
    this.#synced = synced
    this.#rpId = rpId
  }

  #clientData(type: string, challenge: string, lie: Lie): Buffer {
    const told = { type, challenge, origin: this.#origin, crossOrigin: false, ...lie.clientData }
    return Buffer.from(JSON.stringify(told))
  }

  #authenticatorData(flags: number, lie: Lie, attested: Buffer = Buffer.alloc(0)): Buffer {
    const told = (lie.flip ?? []).reduce(
      (all, name) => all ^ FLAGS[name],
      flags | (this.#synced ? FLAGS.be | FLAGS.bs : 0),
    )
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(lie.signCount ?? this.signCount)
    return Buffer.concat([
      sha256(lie.rpId ?? this.#rpId),
      Buffer.from([told]),
      counter,
      attested,
      lie.trailing ?? Buffer.alloc(0),
    ])
  }

  /** Makes the passkey: RegistrationResponseJSON. */
  create({ challenge, user }: Options, lie: Lie = {}) {
    this.handle = user?.id ?? ''
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.from([id.length >> 8, id.length & 0xff])
    const attested = Buffer.concat([Buffer.alloc(16), length, id, cbor(lie.key ?? this.keys.cose)])
    const authData = this.#authenticatorData(FLAGS.up | FLAGS.uv | FLAGS.at, lie, attested)
    const attestation = new Map<Cbor, Cbor>([
      ['fmt', lie.format ?? 'none'],
      ['attStmt', lie.statement ?? new Map()],
      ['authData', authData],
    ])
    return {
      id: lie.id ?? this.id,
      rawId: lie.rawId ?? lie.id ?? this.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', challenge, lie)),
        attestationObject: base64url(cbor(attestation)),
        transports: ['internal', 'telepathy'],
      },
    }
  }

  /** Answers a challenge: AuthenticationResponseJSON. */
  get({ challenge }: Options, lie: Lie = {}) {
    if (!this.#synced) this.signCount += 1
    const clientData = this.#clientData('webauthn.get', challenge, lie)
    const authenticatorData = this.#authenticatorData(FLAGS.up | FLAGS.uv, lie)
    const right = this.keys.sign(Buffer.concat([authenticatorData, sha256(clientData)]))
    const userHandle = lie.userHandle === undefined ? this.handle : lie.userHandle
    return {
      id: lie.id ?? this.id,
      rawId: lie.rawId ?? lie.id ?? this.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(lie.signature?.(right) ?? right),
        ...(userHandle === null ? {} : { userHandle }),
      },
    }
  }
}
