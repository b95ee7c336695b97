/** What the value of a field is, for readers that show it in words. `internal` means nothing to people. */
type FieldKind =
  | 'text'
  | 'time'
  | 'action'
  | 'email'
  | 'number'
  | 'numbers'
  | 'role'
  | 'permissions'
  | 'zone'
  | 'status'
  | 'cause'
  | 'reason'
  | 'yes'
  | 'codes'
  | 'internal'

/** What `before` and `after` of an audit entry may hold, by key, and nothing else. No secret may ever be a key here. */
export const AUDIT_FIELDS = {
  legal_name: 'text',
  name: 'text',
  label: 'text',
  number: 'number',
  customer_name: 'text',
  email: 'email',
  role: 'role',
  based_on: 'role',
  permissions: 'permissions',
  status: 'status',
  timezone: 'zone',
  currency: 'text',
  changed_settings: 'codes',
  lines: 'number',
  min_quantities: 'numbers',
  file_name: 'text',
  vendor: 'text',
  account_number: 'text',
  last_error: 'cause',
  withdraw_most: 'yes',
  left: 'yes',
  cause: 'cause',
  service: 'text',
  codes_left: 'number',
  kind: 'internal',
  reason: 'reason',
  entries: 'number',
  format: 'text',
  expires_at: 'time',
  by: 'internal',
  oldest: 'time',
  newest: 'time',
  action: 'action',
  actors: 'internal',
  operator: 'internal',
  code: 'internal',
  id: 'internal',
  approved_by: 'internal',
  asset_id: 'internal',
  primary_asset_id: 'internal',
  kms_key_arn: 'internal',
  secret_version: 'internal',
  sha256: 'internal',
  slug: 'text',
  second_factor: 'internal',
  vendor_account_id: 'internal',
} as const satisfies Readonly<Record<string, FieldKind>>

export type AuditField = keyof typeof AUDIT_FIELDS

/** A side of a change: what it was before, or is after. */
export type AuditValues = { readonly [Field in AuditField]?: unknown }

/** The fields that say something to people. */
export type ShownField = {
  [Field in AuditField]: (typeof AUDIT_FIELDS)[Field] extends 'internal' ? never : Field
}[AuditField]
