import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const FLOWS = ['invitations', 'reset-password', 'select-tenant', 'session', 'sessions', 'sign-in', 'verify-email']

/** The contract's tests against the synthesized assembly, and the tests of the assembly itself. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  test: {
    name: 'assembly',
    globalSetup: ['tests/assembly/setup.ts'],
    setupFiles: ['tests/setup/documented.ts'],
    include: [
      'tests/assembly/*.test.ts',
      'tests/contract/{matrix,bad-input}.pg.test.ts',
      `tests/functions/auth/{${FLOWS.join()}}.pg.test.ts`,
      'tests/functions/members/*.pg.test.ts',
      'tests/functions/vendor-accounts/vendor-accounts.pg.test.ts',
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' },
    maxWorkers: 2,
  },
})
