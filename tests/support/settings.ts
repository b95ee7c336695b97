export const MAIL_KEY = 'a mail key that only the tests use'
export const FACTOR_KEY = 'a factor key that only the tests use'
export const PREVIOUS_FACTOR_KEY = 'the previous factor key, that only the tests use'
export const PEPPER = 'a pepper that only the tests use'

/**
 * Settings with cheap password hashes, and limits that no test reaches by chance. The window of sign-ins is a day: windows begin
 * at multiples of their length, and the next one allows a few attempts more, so a short one would begin in the midst of tests.
 */
export const TEST_SETTINGS: Readonly<Record<string, string>> = {
  ARGON2_MEMORY_KIB: '64',
  ARGON2_ITERATIONS: '1',
  LOGIN_IP_LIMIT: '1000000',
  LOGIN_EMAIL_LIMIT: '1000000',
  LOGIN_ACCOUNT_LIMIT: '1000000',
  LOGIN_WINDOW_SECONDS: '86400',
  SECOND_FACTOR_LIMIT: '10000',
  SECOND_FACTOR_DAY_LIMIT: '10000',
  SECOND_FACTOR_IP_LIMIT: '10000',
  VENDOR_TENANT_BURST: '1000000',
  INVITE_RECIPIENT_LIMIT: '1000000',
  INVITE_RESEND_SECONDS: '0',
}
