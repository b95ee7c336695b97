import { Problem } from '#shared/base/problem.ts'

/** KMS failed or refused a request. The client may retry. */
export class KeyServiceUnavailable extends Problem {
  override name = 'KeyServiceUnavailable'
  constructor(cause: unknown) {
    super('dependency-unavailable', { headers: { 'retry-after': '5' }, cause })
  }
}

/** The KMS encryption context of a data key. CloudTrail logs it in plaintext, so it has ids and no personal data. */
export interface KeyContext {
  readonly tenantId: string
  readonly purpose: string
}

/** A data key that KMS has wrapped. */
export interface WrappedKey {
  readonly kmsKeyArn: string
  readonly wrapped: Uint8Array
}

/** The KMS operations in use. Each takes at most two seconds, including its retries. */
export interface KeyService {
  /** Returns a new 256-bit data key. The caller overwrites `plaintext` after use. Throws KeyServiceUnavailable. */
  generate(context: KeyContext): Promise<WrappedKey & { readonly plaintext: Buffer }>
  /**
   * Returns the plaintext of a data key. Throws DecryptionFailed if another context or another KMS key wrapped it, and
   * KeyServiceUnavailable for any other failure.
   */
  unwrap(key: WrappedKey, context: KeyContext): Promise<Buffer>
  /** Wraps the data key under another KMS key; its plaintext does not leave KMS. Throws the same errors as `unwrap`. */
  rewrap(key: WrappedKey, context: KeyContext, toKeyId: string): Promise<WrappedKey>
}
