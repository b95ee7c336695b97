/** The notices that a page may show after a redirect. Each has its text in `texts/`. An address has the code, never a text. */
export const NOTICES = [
  'signed-out',
  'session-ended',
  'shop-switched',
  'sign-in-with-password',
  'email-verified',
  'reset-requested',
  'verification-sent',
  'role-changed',
  'member-removed',
  'invitation-sent',
  'invitation-cancelled',
  'role-created',
  'role-updated',
  'role-deleted',
  'vendor-connected',
  'vendor-unverified',
  'vendor-secret-replaced',
  'vendor-verified',
  'vendor-refused',
  'vendor-revoked',
  'sync-active',
  'settings-saved',
  'mail-language-changed',
  'password-changed',
  'other-session-ended',
  'other-sessions-ended',
] as const

export type Notice = (typeof NOTICES)[number]

export const isNotice = (text: string | null): text is Notice => NOTICES.some((notice) => notice === text)
