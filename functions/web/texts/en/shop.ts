import type { SYNC_ERRORS } from '#shared/sync-run/sync-run.ts'

export const vendors = {
  title: 'Vendor accounts',
  caption: 'Vendor accounts of the shop',
  account: 'Account',
  verified: 'Verified',
  never: 'Not yet',
  states: { verified: 'Verified', unverified: 'Not verified', revoked: 'Revoked' },
  sync: 'Sync now',
  verify: 'Verify',
  replace: 'Replace secret',
  revoke: 'Revoke',
  noneTitle: 'No vendor accounts yet',
  none: 'Connect an account of a vendor below. Then the catalog has its products and your prices.',
  newTitle: 'Connect an account',
  vendor: 'Vendor',
  label: 'Label',
  labelHint: 'What you call this account.',
  number: 'Account number',
  secret: 'API key or password',
  secretHint: 'We store it encrypted, and never show it again.',
  connect: 'Connect',
  secretTitle: (account: string) => `Replace the secret of ${account}`,
  secretText: 'The vendor checks the new secret first. Until then the old one stays in use.',
  replaceConfirm: 'Replace the secret',
  revokeTitle: (account: string) => `Revoke ${account}?`,
  revokeText: 'The stored secret is erased, and cannot be restored. Orders and syncs with this account stop.',
  revokeConfirm: 'Erase the secret',
}

const errors: Record<(typeof SYNC_ERRORS)[number], string> = {
  'vendor-rejected': 'The vendor refused the credentials. Replace the secret of the account.',
  'vendor-unreachable': 'The vendor could not be reached. Try again later.',
  'vendor-answer': 'The vendor sent something that we cannot read. Try again later.',
  'kms-unavailable': 'The stored secret could not be decrypted at the moment. Try again later.',
  abandoned: 'The sync stopped unexpectedly. Start it again.',
}

export const sync = {
  title: (vendor: string) => `Sync of ${vendor}`,
  runs: 'Latest syncs',
  run: 'Vendor',
  state: 'Status',
  states: { queued: 'Waiting', running: 'Running', succeeded: 'Finished', failed: 'Failed' },
  refreshes: (seconds: number) => `This page loads again every ${seconds} seconds.`,
  products: 'Products',
  variants: 'Variants',
  prices: 'Prices',
  unresolved: 'Unknown sizes',
  begun: 'Started',
  finished: 'Finished',
  back: 'All vendor accounts',
  errors,
}

export const settings = {
  title: 'Settings',
  name: 'Name of the shop',
  timezone: 'Time zone',
  timezoneHint: 'Pages show times in it.',
  currency: 'Currency',
  currencyHint: 'It cannot be changed once the shop has deals.',
  save: 'Save',
}

export const account = {
  title: 'Your account',
  name: 'Name',
  email: 'Email address',
  verified: 'Verified',
  unverified: 'Not verified',
  sessions: 'Where you are signed in',
  password: 'Change your password',
  passwordText: 'You stay signed in here. All your other sessions end.',
  current: 'Current password',
  new: 'New password',
  repeated: 'New password again',
  notRepeated: 'Enter the same new password twice.',
  change: 'Change the password',
}

export const sessions = {
  title: 'Where you are signed in',
  caption: 'Your sessions',
  text: 'End a session that you do not know, and change your password.',
  device: 'Device',
  shop: 'Shop',
  none: 'No shop chosen',
  begun: 'Signed in',
  used: 'Last used',
  current: 'This session',
  end: 'End',
  endOthers: 'End all other sessions',
  back: 'Your account',
  otherDevice: 'Another program',
  onSystem: (browser: string, system: string) => `${browser} on ${system}`,
}
