/** Hashes that cost little: the ledger is about what is stored, and a sign-in would take most of the machine. */
export const CHEAP_HASH = { memoryKib: 64, iterations: 1 }

/** The settings of the stack: no limit that the traffic reaches, and sessions that outlive a soak. */
export const SETTINGS: Readonly<Record<string, string>> = {
  ARGON2_MEMORY_KIB: String(CHEAP_HASH.memoryKib),
  ARGON2_ITERATIONS: String(CHEAP_HASH.iterations),
  LOGIN_IP_LIMIT: '1000000',
  LOGIN_EMAIL_LIMIT: '1000000',
  LOGIN_ACCOUNT_LIMIT: '1000000',
  INVITE_TENANT_LIMIT: '1000000',
  INVITE_RECIPIENT_LIMIT: '1000000',
  SYNC_TENANT_LIMIT: '1000000',
  VENDOR_TENANT_LIMIT: '1000000',
  VENDOR_TENANT_BURST: '1000000',
  SECOND_FACTOR_LIMIT: '10000',
  SECOND_FACTOR_DAY_LIMIT: '10000',
  SECOND_FACTOR_IP_LIMIT: '10000',
  STEP_UP_SECONDS: '3600',
  SESSION_MAX_PER_USER: '1000',
  SESSION_PENDING_SECONDS: '86400',
}
