/**
 * Every action of the audit log, with the type of its target. Some are written by functions of the database: a test looks
 * for them in the migrations. A new action is one line here.
 */
export const AUDIT_ACTIONS = {
  'data_key.destroyed': 'data_key',
  'data_key.rewrapped': 'data_key',
  'data_key.rotated': 'data_key',
  'deal.changed': 'deal',
  'deal.created': 'deal',
  'deal.lines_replaced': 'deal',
  'design.approved': 'design',
  'design.asset_added': 'design',
  'design.asset_removed': 'design',
  'design.created': 'design',
  'design.primary_asset_chosen': 'design',
  'invitation.cancelled': 'invitation',
  'invitation.created': 'invitation',
  'invitation.replaced': 'invitation',
  'invitation.resent': 'invitation',
  'invitation.role_changed': 'invitation',
  'membership.accepted': 'membership',
  'membership.revoked': 'membership',
  'membership.role_changed': 'membership',
  'price_breaks.replaced': 'style',
  'session.revoked': 'session',
  'session.sign_in_failed': 'user',
  'session.signed_out': 'session',
  'session.tenant_selected': 'session',
  'tenant.created': 'tenant',
  'tenant.status_changed': 'tenant',
  'user.disabled': 'user',
  'user.enabled': 'user',
  'user.password_changed': 'user',
  'user.password_reset': 'user',
  'vendor_account.created': 'vendor_account',
  'vendor_account.opened': 'vendor_account',
  'vendor_account.refused': 'vendor_account',
  'vendor_account.revoked': 'vendor_account',
  'vendor_account.secret_replaced': 'vendor_account',
  'vendor_account.verified': 'vendor_account',
} as const

export type AuditAction = keyof typeof AUDIT_ACTIONS
