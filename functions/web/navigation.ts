import type { Permission } from '#shared/role/permissions.ts'
import type { Texts } from '#web/texts/texts.ts'

interface Entry {
  /** Its label and what it is for stand in `navigation` of the texts. */
  readonly name: keyof Texts['navigation']
  readonly path: `/s/{slug}${string}`
  /** The permission of the page; null: every member. */
  readonly permission: Permission | null
}

/** The pages of a shop that the navigation and the start page lead to, in this order. */
export const NAVIGATION: readonly Entry[] = [
  { name: 'start', path: '/s/{slug}', permission: null },
  { name: 'members', path: '/s/{slug}/members', permission: 'member.manage' },
  { name: 'invitations', path: '/s/{slug}/invitations', permission: 'member.manage' },
  { name: 'roles', path: '/s/{slug}/roles', permission: 'member.manage' },
  { name: 'vendors', path: '/s/{slug}/vendor-accounts', permission: 'vendor.manage' },
  { name: 'settings', path: '/s/{slug}/settings', permission: 'company.write' },
  { name: 'auditLog', path: '/s/{slug}/audit-log', permission: 'member.manage' },
]
