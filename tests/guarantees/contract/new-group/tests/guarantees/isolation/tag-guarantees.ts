import { calledBy, type FunctionGuarantees } from '#tests/guarantees/isolation/guarantee.ts'
import { readerGuarantee } from '#tests/guarantees/isolation/session-guarantees.ts'

export const FUNCTIONS: FunctionGuarantees = calledBy('identity_auth', { tag_tenants: readerGuarantee })
