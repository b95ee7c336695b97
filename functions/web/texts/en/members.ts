import type { AuditAction } from '#shared/audit/actions.ts'
import type { Permission } from '#shared/role/permissions.ts'
import type { Named } from '#web/pages/audit-log/sentence.ts'

export const members = {
  title: 'Members',
  caption: 'Members of the shop',
  filters: 'Find members',
  search: 'Name or email address',
  current: 'Active and invited',
  person: 'Person',
  email: 'Email address',
  status: 'Status',
  role: 'Role',
  roleOf: (name: string) => `Role of ${name}`,
  change: 'Change role',
  may: (permissions: string) => `May ${permissions}.`,
  since: 'Since',
  actions: 'Actions',
  remove: 'Remove',
  invite: 'Invite somebody',
  noneTitle: 'Nobody found',
  none: 'No member fits the search. Clear it, or invite somebody.',
  states: { active: 'Active', invited: 'Invited', disabled: 'Disabled', removed: 'Removed' },
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: (name: string, shop: string) =>
    `${name} will lose access to ${shop} immediately, on every device. You can invite them again later.`,
  removeConfirm: 'Remove from the shop',
}

export const invitations = {
  title: 'Invitations',
  newTitle: 'Invite somebody',
  openTitle: 'Open invitations',
  caption: 'Open invitations',
  email: 'Email address',
  emailHint: 'We send a link to this address.',
  send: 'Send the invitation',
  expires: 'Expires',
  resend: 'Send again',
  cancel: 'Cancel',
  bounced: 'Mail came back',
  noneTitle: 'No open invitations',
  none: 'Invite somebody with the form above. They appear here until they accept.',
  states: { pending: 'Sent', expired: 'Expired', cancelled: 'Cancelled' },
}

const permissions: Record<Permission, string> = {
  'catalog.read': 'see the catalog',
  'company.read': 'see the settings',
  'company.write': 'change the settings',
  'customer.read': 'see customers',
  'customer.write': 'change customers',
  'deal.price.read': 'see prices of deals',
  'deal.price.write': 'change prices of deals',
  'deal.read': 'see deals',
  'deal.write': 'change deals',
  'design.approve': 'approve designs',
  'design.read': 'see designs',
  'design.write': 'change designs',
  'member.manage': 'manage members',
  'vendor.manage': 'manage vendor accounts',
}

export const roles = {
  title: 'Roles',
  caption: 'Roles that members of the shop can have',
  role: 'Role',
  kind: 'Made by',
  may: 'May',
  ofShop: 'This shop',
  ofPlatform: 'Platform',
  everything: 'do everything',
  newTitle: 'Add a role',
  newText: 'A role of the shop permits what another role does, and more. Its rank is that of the other role.',
  label: 'Name',
  code: 'Code',
  codeHint: '2 to 32 lowercase letters, digits and hyphens, such as night-shift. It cannot be changed later.',
  basedOn: 'Based on',
  adds: 'It may also',
  create: 'Add the role',
  editTitle: (label: string) => `Role ${label}`,
  baseText: (base: string, may: string) => `It is based on ${base}, which may: ${may}.`,
  save: 'Save',
  nothingToAdd: 'That is all that you may permit, so there is nothing to add.',
  deleteTitle: 'Delete the role',
  deleteText: 'Only a role that no member and no invitation has can be deleted.',
  delete: 'Delete the role',
  permissions,
}

interface Told {
  /** The action, for the filter. */
  readonly label: string
  readonly sentence: (named: Named) => string
}

const actions: Record<AuditAction, Told> = {
  'data_key.destroyed': {
    label: 'Encryption key destroyed',
    sentence: ({ who }) => `${who} destroyed an encryption key of the shop.`,
  },
  'data_key.rewrapped': {
    label: 'Encryption key rewrapped',
    sentence: ({ who }) => `${who} moved the shop's encryption key to another master key.`,
  },
  'data_key.rotated': {
    label: 'Encryption key rotated',
    sentence: ({ who }) => `${who} gave the shop a new encryption key.`,
  },
  'deal.changed': { label: 'Deal changed', sentence: ({ who }) => `${who} changed a deal.` },
  'deal.created': { label: 'Deal created', sentence: ({ who, value }) => `${who} created deal ${value('number')}.` },
  'deal.lines_replaced': {
    label: 'Lines of a deal changed',
    sentence: ({ who }) => `${who} changed the lines of a deal.`,
  },
  'design.approved': { label: 'Design approved', sentence: ({ who }) => `${who} approved a design.` },
  'design.asset_added': {
    label: 'File added to a design',
    sentence: ({ who, value }) => `${who} added the file ${value('file_name')} to a design.`,
  },
  'design.asset_removed': {
    label: 'File removed from a design',
    sentence: ({ who, value }) => `${who} removed the file ${value('file_name')} from a design.`,
  },
  'design.created': {
    label: 'Design created',
    sentence: ({ who, value }) => `${who} created the design ${value('name')}.`,
  },
  'design.primary_asset_chosen': {
    label: 'Primary file of a design chosen',
    sentence: ({ who }) => `${who} chose another primary file of a design.`,
  },
  'invitation.bounce_cleared': {
    label: 'Invitation can be mailed again',
    sentence: ({ who, target }) => `${who} allowed mail to ${target} again.`,
  },
  'invitation.bounced': {
    label: 'Invitation came back',
    sentence: ({ target }) => `The invitation to ${target} could not be delivered.`,
  },
  'invitation.cancelled': {
    label: 'Invitation cancelled',
    sentence: ({ who, target }) => `${who} cancelled the invitation to ${target}.`,
  },
  'invitation.created': {
    label: 'Invitation sent',
    sentence: ({ who, target, value }) => `${who} invited ${target} as ${value('role')}.`,
  },
  'invitation.replaced': {
    label: 'Invitation replaced',
    sentence: ({ who, target, value }) => `${who} invited ${target} again, as ${value('role')}.`,
  },
  'invitation.resent': {
    label: 'Invitation sent again',
    sentence: ({ who, target }) => `${who} sent the invitation to ${target} again.`,
  },
  'invitation.role_changed': {
    label: 'Role of an invitation changed',
    sentence: ({ who, target, value }) => `${who} changed the role in the invitation to ${target} to ${value('role')}.`,
  },
  'membership.accepted': {
    label: 'Invitation accepted',
    sentence: ({ who, value }) => `${who} joined the shop as ${value('role')}.`,
  },
  'membership.revoked': {
    label: 'Member removed',
    sentence: ({ who, target }) => `${who} removed ${target} from the shop.`,
  },
  'membership.role_changed': {
    label: 'Role of a member changed',
    sentence: ({ who, target, value }) => `${who} made ${target} ${value('role')}.`,
  },
  'price_breaks.replaced': {
    label: 'Price breaks changed',
    sentence: ({ who }) => `${who} changed the price breaks of a style.`,
  },
  'role.changed': { label: 'Role changed', sentence: ({ who, value }) => `${who} changed the role ${value('label')}.` },
  'role.created': { label: 'Role added', sentence: ({ who, value }) => `${who} added the role ${value('label')}.` },
  'role.deleted': { label: 'Role deleted', sentence: ({ who, value }) => `${who} deleted the role ${value('code')}.` },
  'service.entered': {
    label: 'Service acted in the shop',
    sentence: ({ value }) => `The service ${value('role')} acted in the shop.`,
  },
  'service.granted': {
    label: 'Service admitted',
    sentence: ({ who, value }) => `${who} admitted the service ${value('role')} to the shop.`,
  },
  'service.revoked': {
    label: 'Service shut out',
    sentence: ({ who, value }) => `${who} shut the service ${value('role')} out of the shop.`,
  },
  'session.revoked': { label: 'Session ended', sentence: ({ who }) => `A session of ${who} was ended.` },
  'session.sign_in_failed': {
    label: 'Failed sign-in',
    sentence: ({ target }) => `Somebody tried to sign in as ${target} and failed.`,
  },
  'session.signed_out': { label: 'Signed out', sentence: ({ who }) => `${who} signed out.` },
  'session.tenant_selected': { label: 'Work begun', sentence: ({ who }) => `${who} began to work in this shop.` },
  'sync_run.abandoned': { label: 'Sync abandoned', sentence: () => 'A sync of the catalog was abandoned.' },
  'sync_run.created': { label: 'Sync started', sentence: ({ who }) => `${who} started a sync of the catalog.` },
  'tenant.changed': { label: 'Settings changed', sentence: ({ who }) => `${who} changed the settings of the shop.` },
  'tenant.created': { label: 'Shop created', sentence: ({ who }) => `${who} created the shop.` },
  'tenant.status_changed': {
    label: 'Status of the shop changed',
    sentence: ({ who, value }) => `${who} changed the status of the shop to ${value('status')}.`,
  },
  'user.bounce_cleared': {
    label: 'Address can be mailed again',
    sentence: ({ who }) => `${who} allowed mail to a member's address again.`,
  },
  'user.bounced': { label: 'Mail came back', sentence: () => "Mail to a member's address could not be delivered." },
  'user.disabled': { label: 'Person disabled', sentence: ({ who }) => `${who} disabled a member's sign-in.` },
  'user.enabled': { label: 'Person enabled', sentence: ({ who }) => `${who} enabled a member's sign-in.` },
  'user.password_changed': { label: 'Password changed', sentence: ({ who }) => `${who} changed their password.` },
  'user.password_reset': { label: 'Password reset', sentence: ({ who }) => `${who} set a new password by a link.` },
  'vendor_account.created': {
    label: 'Vendor account connected',
    sentence: ({ who }) => `${who} connected a vendor account.`,
  },
  'vendor_account.opened': {
    label: 'Vendor credentials used',
    sentence: ({ who }) => `${who} used the credentials of a vendor account.`,
  },
  'vendor_account.refused': {
    label: 'Vendor refused credentials',
    sentence: ({ who }) => `A vendor refused the credentials that ${who} sent.`,
  },
  'vendor_account.revoked': {
    label: 'Vendor account removed',
    sentence: ({ who }) => `${who} removed a vendor account.`,
  },
  'vendor_account.secret_replaced': {
    label: 'Vendor credentials replaced',
    sentence: ({ who }) => `${who} replaced the credentials of a vendor account.`,
  },
  'vendor_account.verified': {
    label: 'Vendor account verified',
    sentence: ({ who }) => `${who} verified a vendor account.`,
  },
}

export const auditLog = {
  title: 'Audit log',
  filters: 'Find entries',
  actor: 'Who',
  anybody: 'Anybody',
  action: 'What',
  anything: 'Anything',
  from: 'From',
  to: 'To',
  noneTitle: 'No entries found',
  none: 'Nothing fits the filters. Choose a longer time, or another person.',
  system: 'The platform',
  somebody: 'somebody',
  other: (who: string, action: string) => `${who}: ${action}.`,
  actions,
}
