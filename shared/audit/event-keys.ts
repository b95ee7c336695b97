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
  expires_at: 'code',
  id: 'number',
  lines: 'number',
  min_quantities: 'numbers',
  number: 'number',
  permissions: 'codes',
  role: 'code',
  second_factor: 'code',
  secret_version: 'number',
  slug: 'code',
  status: 'code',
  timezone: 'code',
  vendor: 'code',
  vendor_account_id: 'id',
} as const

export type EventKey = keyof typeof EVENT_KEYS
