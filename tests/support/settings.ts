export const MAIL_KEY = 'a mail key that only the tests use'
export const PEPPER = 'a pepper that only the tests use'

/** Settings with cheap password hashes, and limits that no test reaches by chance. */
export const TEST_SETTINGS: Readonly<Record<string, string>> = {
  ARGON2_MEMORY_KIB: '64',
  ARGON2_ITERATIONS: '1',
  LOGIN_IP_LIMIT: '1000000',
  LOGIN_EMAIL_LIMIT: '1000000',
  LOGIN_ACCOUNT_LIMIT: '1000000',
  VENDOR_TENANT_BURST: '1000000',
  INVITE_RECIPIENT_LIMIT: '1000000',
  INVITE_RESEND_SECONDS: '0',
}
