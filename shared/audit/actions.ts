/**
 * What `before` and `after` of an event may hold, by key, and nothing else: ids, codes and numbers. No address, name, free text
 * or secret may ever be a key here.
 */
export const EVENT_KEYS = {
  approved_by: 'id',
  asset_id: 'id',
  based_on: 'code',
  changed_settings: 'codes',
  code: 'code',
  currency: 'code',
  id: 'number',
  lines: 'number',
  min_quantities: 'numbers',
  number: 'number',
  permissions: 'codes',
  role: 'code',
  secret_version: 'number',
  slug: 'code',
  status: 'code',
  timezone: 'code',
  vendor: 'code',
  vendor_account_id: 'id',
} as const

export type EventKey = keyof typeof EVENT_KEYS

/**
 * Every action of the audit log, with the type of its target and the keys of `before` and `after` that leave in its event. The
 * actions with `event: null` are not published: what happens to sessions, passwords and mails of one person, the keys of the
 * vault, and the tenants that services enter. Some entries are written by functions of the database: a test looks for them in the migrations. A new action is one
 * line here and, if it is published, one row of app.event_actions in its migration.
 */
export const AUDIT_ACTIONS = {
  'data_key.destroyed': { target: 'data_key', event: null },
  'data_key.rewrapped': { target: 'data_key', event: null },
  'data_key.rotated': { target: 'data_key', event: null },
  'deal.changed': { target: 'deal', event: ['status'] },
  'deal.created': { target: 'deal', event: ['number'] },
  'deal.lines_replaced': { target: 'deal', event: ['lines'] },
  'design.approved': { target: 'design', event: [] },
  'design.asset_added': { target: 'design', event: ['asset_id', 'approved_by'] },
  'design.asset_removed': { target: 'design', event: ['asset_id', 'approved_by'] },
  'design.created': { target: 'design', event: [] },
  'design.primary_asset_chosen': { target: 'design', event: ['asset_id'] },
  'invitation.bounce_cleared': { target: 'invitation', event: null },
  'invitation.bounced': { target: 'invitation', event: null },
  'invitation.cancelled': { target: 'invitation', event: ['role'] },
  'invitation.created': { target: 'invitation', event: ['role'] },
  'invitation.replaced': { target: 'invitation', event: ['role'] },
  'invitation.resent': { target: 'invitation', event: [] },
  'invitation.role_changed': { target: 'invitation', event: ['role'] },
  'membership.accepted': { target: 'membership', event: ['role'] },
  'membership.revoked': { target: 'membership', event: ['role'] },
  'membership.role_changed': { target: 'membership', event: ['role'] },
  'price_breaks.replaced': { target: 'style', event: ['min_quantities'] },
  'role.changed': { target: 'role', event: ['id', 'permissions'] },
  'role.created': { target: 'role', event: ['id', 'code', 'based_on', 'permissions'] },
  'role.deleted': { target: 'role', event: ['id', 'code'] },
  'service.entered': { target: 'service', event: null },
  'service.granted': { target: 'service', event: null },
  'service.revoked': { target: 'service', event: null },
  'session.revoked': { target: 'session', event: null },
  'session.sign_in_failed': { target: 'user', event: null },
  'session.signed_out': { target: 'session', event: null },
  'session.tenant_selected': { target: 'session', event: null },
  'sync_run.abandoned': { target: 'sync_run', event: [] },
  'sync_run.created': { target: 'sync_run', event: ['vendor', 'vendor_account_id'] },
  'tenant.changed': { target: 'tenant', event: ['timezone', 'currency', 'changed_settings'] },
  'tenant.created': { target: 'tenant', event: ['slug', 'status'] },
  'tenant.status_changed': { target: 'tenant', event: ['status'] },
  'user.bounce_cleared': { target: 'user', event: null },
  'user.bounced': { target: 'user', event: null },
  'user.disabled': { target: 'user', event: [] },
  'user.enabled': { target: 'user', event: [] },
  'user.password_changed': { target: 'user', event: null },
  'user.password_reset': { target: 'user', event: null },
  'vendor_account.created': { target: 'vendor_account', event: ['vendor'] },
  'vendor_account.opened': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.refused': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.revoked': { target: 'vendor_account', event: ['vendor'] },
  'vendor_account.secret_replaced': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.verified': { target: 'vendor_account', event: ['secret_version'] },
} as const satisfies Record<string, { target: string; event: readonly EventKey[] | null }>

export type AuditAction = keyof typeof AUDIT_ACTIONS

/** The actions that leave as events. */
export type PublishedAction = {
  [Action in AuditAction]: (typeof AUDIT_ACTIONS)[Action]['event'] extends null ? never : Action
}[AuditAction]

export const isPublished = (action: AuditAction): action is PublishedAction => AUDIT_ACTIONS[action].event !== null
