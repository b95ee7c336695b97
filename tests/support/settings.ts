// What the tests' services are started with.

export const MAIL_KEY = 'a mail key for the tests, of which no other use is made'
export const PEPPER = 'a pepper for the tests, of which no other use is made'

/** Hashes that cost next to nothing, and limits that no test meets by chance. */
export const TEST_SETTINGS: Readonly<Record<string, string>> = {
  ARGON2_MEMORY_KIB: '64',
  ARGON2_ITERATIONS: '1',
  LOGIN_IP_LIMIT: '1000000',
  LOGIN_EMAIL_LIMIT: '1000000',
}
