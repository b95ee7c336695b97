/** What a shop signs in to a vendor with, as it was given: neither trimmed nor normalised. */
export interface VendorCredential {
  readonly accountNumber: string
  readonly secret: string
}

/** A field that no vendor of this kind can be sent. The detail never repeats a value. */
export interface CredentialFault {
  readonly field: 'account_number' | 'secret'
  readonly detail: string
}

/** One way in which vendors are asked whether a credential is good. */
export interface VendorAdapter {
  /** What makes a credential impossible to send, which is known without asking the vendor; empty for none. */
  faults(credential: VendorCredential): readonly CredentialFault[]
  /**
   * Asks the vendor at `url`, with a credential without faults. Resolves only to what the vendor said; whatever else
   * happens rejects with VendorUnreachable.
   */
  verify(url: URL, credential: VendorCredential, timeoutMs: number): Promise<'accepted' | 'refused'>
}

// Controls, halves of surrogate pairs, and the two that XML 1.0 leaves out of `Char`.
const UNSENDABLE = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u

/**
 * The faults that every adapter finds: an empty field; control characters, which neither HTTP Basic (RFC 7617, section 2)
 * nor an XML Schema token carries; and what has no form in UTF-8 or XML 1.0 (section 2.2). Anything else can be sent.
 */
export function textFaults({ accountNumber, secret }: VendorCredential): readonly CredentialFault[] {
  const fields = [
    { field: 'account_number', value: accountNumber },
    { field: 'secret', value: secret },
  ] as const
  return fields.flatMap(({ field, value }) => {
    if (value === '') return [{ field, detail: 'must not be empty' }]
    return UNSENDABLE.test(value) ? [{ field, detail: 'must not contain control characters' }] : []
  })
}
