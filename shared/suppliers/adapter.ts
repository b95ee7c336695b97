import type { Fault } from '#shared/schema/field-error.ts'

/** A tenant's credential for a vendor, exactly as it was entered: neither trimmed nor normalised. */
export interface VendorCredential {
  readonly accountNumber: string
  readonly secret: string
}

/** A field that cannot be sent to vendors of this adapter. */
export type CredentialFault = Fault & { readonly field: 'account_number' | 'secret' }

/** A protocol for verifying a credential with a vendor. */
export interface VendorAdapter {
  /** Returns the faults that make a credential impossible to send. Calls no vendor. */
  faults(credential: VendorCredential): readonly CredentialFault[]
  /**
   * Verifies a credential without faults with the vendor at `url`. Resolves only to a verdict of the vendor. Throws
   * VendorUnreachable in every other case.
   */
  verify(url: URL, credential: VendorCredential, timeoutMs: number): Promise<'accepted' | 'refused'>
}

// Control characters, lone surrogates, and the two noncharacters that XML 1.0 excludes from `Char`.
const UNSENDABLE = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u

/**
 * Returns the faults that every adapter rejects: an empty field, control characters, which neither HTTP Basic (RFC
 * 7617, section 2) nor an XML Schema token allows, and characters that UTF-8 or XML 1.0 (section 2.2) cannot represent.
 */
export function textFaults({ accountNumber, secret }: VendorCredential): readonly CredentialFault[] {
  const fields = [['account_number', accountNumber] as const, ['secret', secret] as const]
  return fields.flatMap(([field, value]): CredentialFault[] => {
    if (value === '') return [{ field, code: 'empty' }]
    return UNSENDABLE.test(value) ? [{ field, code: 'forbidden-character', character: 'control characters' }] : []
  })
}
